"""`samehere bisect --server`: a bisection over the fleet of a service, followed until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.command.service.answers import bisection_document, not_of_this_version
from app.command.service.client import Client
from app.command.terminal.consoles import errors
from app.command.terminal.progress import ConsoleProgress
from app.errors import InputError
from app.ids import new_id
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest


def bisect_on_server(
    submission: Mapping[str, Any], request: BisectionRequest, *, server: str, token: str | None
) -> BisectionDocument:
    """Submit the report, and bisect it. The service also runs the report by its own preset.

    An interrupt here cancels the bisection there. Raises SamehereError.
    """
    client = Client(server, token=token)
    progress = ConsoleProgress(errors())
    with progress.status(f"Waiting for {client.url}"):
        report_id = _submit(client, submission)
        answer = client.bisect(report_id, _body(request), idempotency_key=new_id())
        bisection_id = str(answer.get("id", ""))
        progress.note(f"{client.url}/bisections/{bisection_id}")
        try:
            attempts = 0
            # A bisection is a run with the same id, so its events can be followed.
            for _ in client.follow(bisection_id):
                document = bisection_document(client.bisection(bisection_id))
                if document.attempts != attempts:
                    attempts = document.attempts
                    progress.note(f"{attempts} attempts: {document.summary}")
        except KeyboardInterrupt:
            client.cancel_bisection(bisection_id)
    return bisection_document(client.bisection(bisection_id))


def _submit(client: Client, submission: Mapping[str, Any]) -> str:
    """Submit the report; its id. Raises InputError if it lacks something, so that nothing can be run."""
    body = {key: value for key, value in submission.items() if value}
    run = client.submit(body, idempotency_key=new_id())
    report = run.get("report")
    if not isinstance(report, dict):
        raise not_of_this_version("run")
    if run.get("ask") and not run.get("jobs"):
        questions = " ".join(str(ask.get("text", "")) for ask in run["ask"] if isinstance(ask, dict))
        raise InputError(
            f"The report lacks something, so nothing can be run: {questions}", code="needs_info", field="file"
        )
    return str(report.get("id", ""))


def _body(request: BisectionRequest) -> dict[str, Any]:
    body = {
        "over": request.axis,
        "error": request.error,
        "most_attempts": request.most_attempts,
        "from": request.begin,
        "to": request.end,
        "toolchains": list(request.toolchains),
        "target": request.base.model_dump(mode="json", exclude_none=True),
    }
    return {key: value for key, value in body.items() if value}
