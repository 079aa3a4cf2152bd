"""`samehere export` and `samehere import`: a run out of a service and into one, as a bundle."""

from __future__ import annotations

import json
import sys

from pydantic import ValidationError

from app.command.files.bundle_file import HOLDS, check_writable, read_file, write_bundle
from app.command.service.client import Client
from app.command.service.configuration import load_settings
from app.command.service.exit_status import status_of_run
from app.command.terminal.consoles import output
from app.command.terminal.render import render
from app.errors import InputError, UnavailableError
from app.ids import is_id
from app.runs.exchange.read_bundle import BundleLimits, read_bundle
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings


def export(run_id: str, *, out: str | None, server: str | None, token: str | None) -> int:
    """Write the bundle of a run to a file, or to standard output. Raises SamehereError."""
    settings = load_settings()
    if not is_id(run_id):
        raise InputError(
            "A run has an id of 26 characters, the last part of its address.", code="bad_id", field="run"
        )
    if out is not None:
        check_writable(out)
    bundle = Client(server or own_address(settings), token=token).bundle(run_id)
    if out is None:
        sys.stdout.write(json.dumps(bundle, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        write_bundle(out, bundle)
    sys.stderr.write(f"{HOLDS}\n")
    return 0


def bring(
    file: str, *, by: str | None, report: str | None, server: str | None, token: str | None, as_json: bool
) -> int:
    """Give a bundle to a service, and print the run that it became there. Raises SamehereError."""
    settings = load_settings()
    limits = BundleLimits.of(settings)
    data = read_file(file, most_bytes=limits.bundle_bytes)
    # Refused here it is refused at once, and in the same words.
    read_bundle(data, limits=limits)
    client = Client(server or own_address(settings), token=token)
    run, created = client.contribute(data, by=by, report=report)
    try:
        document = RunDocument.model_validate(run)
    except ValidationError as error:
        raise UnavailableError(
            "The server's answer is no run of this version: is it a newer or an older samehere?"
        ) from error
    sys.stderr.write(f"{client.url}/runs/{document.id}{'' if created else ' (it was there before)'}\n")
    if as_json:
        sys.stdout.write(json.dumps(run, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        render(document, output())
    return (
        0
        if document.state == "cancelled"
        else status_of_run(
            state=document.state, verdict=document.verdict, seen=document.seen, as_answer=False
        )
    )


def own_address(settings: ServiceSettings) -> str:
    """The service of this machine, where none is named."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
