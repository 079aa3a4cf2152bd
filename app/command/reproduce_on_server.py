"""`samehere reproduce --server`: a run on a service, followed until it ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.command.files.bundle_file import write_bundle
from app.command.files.key_file import BundleSigner
from app.command.service.answers import run_document
from app.command.service.client import ENDED, Client
from app.command.terminal.consoles import errors
from app.command.terminal.progress import ConsoleProgress
from app.errors import SamehereError, UnavailableError
from app.ids import new_id
from app.runs.run_object.document import RunDocument

_WITHDRAW_PATH = re.compile(r"/withdraw/[A-Za-z0-9_-]{1,100}\Z")


def plan_on_server(
    body: Mapping[str, Any], *, server: str, token: str | None
) -> tuple[dict[str, Any], RunDocument]:
    """The plan of a run, as JSON data and as a document; nothing is run. Raises SamehereError."""
    answer = Client(server, token=token).plan(body)
    return answer, run_document(answer)


def run_on_server(
    body: Mapping[str, Any],
    *,
    server: str,
    token: str | None,
    bundle: str | None,
    signer: BundleSigner | None,
) -> tuple[dict[str, Any], RunDocument]:
    """Submit a run and follow it; its end, as JSON data and as a document.

    An interrupt here cancels the run there. `bundle` names a file for its bundle, which `signer` signs.
    Raises SamehereError.
    """
    client = Client(server, token=token)
    progress = ConsoleProgress(errors())
    with progress.status("Sending"):
        run = client.submit(body, idempotency_key=new_id())
        run_id = str(run.get("id", ""))
        progress.note(f"{client.url}/runs/{run_id}")
        link = run.get("withdraw_url")
        # Only the end of the link is the server's word, so nothing else of it is shown.
        if isinstance(link, str) and (path := _WITHDRAW_PATH.search(link)):
            progress.note(f"Keep this link; it erases what you sent: {client.url}{path[0]}")
        try:
            for run in client.follow(run_id):
                jobs = [job for job in run.get("jobs", []) if isinstance(job, dict)]
                progress.count_cells(sum(job.get("state") == "judged" for job in jobs), len(jobs))
        except KeyboardInterrupt:
            run = _cancel(client, run_id)
    if bundle is not None:
        data = client.bundle(run_id)
        write_bundle(bundle, data if signer is None else signer.sign(data))
    return run, run_document(run)


def _cancel(client: Client, run_id: str) -> dict[str, Any]:
    """Cancel the run on the server. Raises UnavailableError if it goes on there."""
    try:
        client.cancel(run_id)
        run = client.run(run_id)
    except (SamehereError, OSError) as error:
        raise UnavailableError(
            f"The run goes on at {client.url}/runs/{run_id}: it could not be cancelled."
        ) from error
    return run if run.get("state") in ENDED else {**run, "state": "cancelled"}
