"""`samehere bisect --server`: the same over the toolchains of a service's fleet, followed until it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.command.files.source import Source, argument_text
from app.command.service.client import Client
from app.command.terminal.consoles import errors
from app.command.terminal.progress import ConsoleProgress
from app.errors import InputError, UnavailableError
from app.ids import new_id
from app.intake.reading import Reading
from app.runs.run_object.bisection_document import BisectionDocument
from app.targets.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a bisection is asked for, wherever it runs."""

    over: str
    begin: str | None
    end: str | None
    toolchains: tuple[str, ...]
    error: float
    most_attempts: int
    claim: str | None
    server: str | None = None
    token: str | None = None


def bisect_on_server(source: Source, reading: Reading, asked: Asked, base: Target) -> BisectionDocument:
    """Submit the report, which runs by the service's own preset too, and bisect it; stopped here, it is stopped there."""
    client = Client(asked.server or "", token=asked.token)
    progress = ConsoleProgress(errors())
    with progress.shown(f"Waiting for {client.url}"):
        body = {
            source.decided_form: source.text,
            "claim": None if asked.claim is None else argument_text(asked.claim),
            "title": reading.title,
        }
        run = client.submit({key: value for key, value in body.items() if value}, idempotency_key=new_id())
        report = run.get("report")
        if not isinstance(report, dict):
            raise UnavailableError(
                "The server's answer is no run of this version: is it a newer or an older samehere?"
            )
        if run.get("ask") and not run.get("jobs"):
            words = " ".join(str(ask.get("text", "")) for ask in run["ask"] if isinstance(ask, dict))
            raise InputError(
                f"The report lacks something, so nothing can be run: {words}", code="needs_info", field="file"
            )
        wish: dict[str, Any] = {
            "over": asked.over,
            "error": asked.error,
            "most_attempts": asked.most_attempts,
        }
        wish |= {"from": asked.begin, "to": asked.end, "toolchains": list(asked.toolchains)}
        wish["target"] = base.model_dump(mode="json", exclude_none=True)
        made = client.bisect(
            str(report.get("id", "")),
            {key: value for key, value in wish.items() if value},
            idempotency_key=new_id(),
        )
        bisection = str(made.get("id", ""))
        progress.noted(f"{client.url}/bisections/{bisection}")
        try:
            tried = 0
            # Its run has the same id, and its events.
            for _ in client.follow(bisection):
                document = _document(client.bisection(bisection))
                if document.attempts != tried:
                    tried = document.attempts
                    progress.noted(f"{tried} attempts: {document.summary}")
        except KeyboardInterrupt:
            client.cancel_bisection(bisection)
    return _document(client.bisection(bisection))


def _document(answer: dict[str, Any]) -> BisectionDocument:
    try:
        return BisectionDocument.model_validate(answer)
    except ValidationError as error:
        raise UnavailableError(
            "The server's answer is no bisection of this version: is it a newer or an older samehere?"
        ) from error
