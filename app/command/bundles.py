"""`samehere export` and `samehere import`: a run out of a service and into one, as a bundle."""

from __future__ import annotations

import sys

from app.command.files.bundle_file import CONTENTS_NOTE, check_writable, read_file, write_bundle
from app.command.files.key_file import signer_of
from app.command.service.answers import check_run_id, run_document
from app.command.service.client import Client
from app.command.service.configuration import load_settings, own_address
from app.command.service.exit_status import status_of_run
from app.command.terminal.consoles import output, print_json
from app.command.terminal.render import render
from app.runs.exchange.envelope import envelope_in
from app.runs.exchange.read_bundle import BundleLimits, read_bundle


def export(run_id: str, *, out: str | None, sign: str | None, server: str | None, token: str | None) -> int:
    """Write the bundle of a run to a file, or to standard output. Raises SamehereError.

    `sign` names the file of a private key.
    """
    settings = load_settings()
    check_run_id(run_id)
    signer = signer_of(sign)
    if out is not None:
        check_writable(out)
    bundle = Client(server or own_address(settings), token=token).bundle(run_id)
    if signer is not None:
        bundle = signer.sign(bundle)
    if out is None:
        print_json(bundle)
    else:
        write_bundle(out, bundle)
    sys.stderr.write(f"{CONTENTS_NOTE}\n")
    return 0


def import_bundle(
    file: str, *, by: str | None, report: str | None, server: str | None, token: str | None, as_json: bool
) -> int:
    """Give a bundle to a service, and print its run there. Raises SamehereError."""
    settings = load_settings()
    limits = BundleLimits.of(settings)
    data = read_file(file, most_bytes=limits.bundle_bytes)
    # The service checks the same. Here a bad bundle is refused before it is sent.
    envelope = envelope_in(data)
    if envelope is None:
        read_bundle(data, limits=limits)
    else:
        read_bundle(envelope.payload, limits=limits, signed=True)
    client = Client(server or own_address(settings), token=token)
    run, is_new = client.contribute(data, by=by, report=report)
    document = run_document(run)
    sys.stderr.write(f"{client.url}/runs/{document.id}{'' if is_new else ' (it was there before)'}\n")
    if as_json:
        print_json(run)
    else:
        render(document, output())
    if document.state == "cancelled":
        return 0
    return status_of_run(state=document.state, verdict=document.verdict, seen=document.seen, as_answer=False)
