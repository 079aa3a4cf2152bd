"""`samehere gate`: whether issues may be closed, by the history of a service or of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from app.clock import now
from app.command.files.source import read_bytes
from app.command.service.answers import not_of_this_version
from app.command.service.client import Client
from app.command.service.configuration import load_settings
from app.command.service.database import service_database
from app.command.service.exit_status import MAY_NOT_CLOSE, STILL_HAPPENS
from app.command.terminal.consoles import errors, print_json, print_line
from app.command.terminal.plain_text import one_line
from app.command.terminal.progress import ConsoleProgress
from app.errors import ConflictError, InputError, SetupError
from app.ids import new_id
from app.judging.report.gate import GateAnswer

MOST_FILE_BYTES = 1024 * 1024
MOST_NAME = 200
MOST_WORDS = 600


class _Answer(BaseModel):
    """The fields of an answer that this command needs."""

    issue: str
    answer: GateAnswer
    may_close: bool
    words: str
    url: str | None = None
    report: str | None = None
    ran_at: Any = None


def ask_gate(
    issues: Sequence[str],
    *,
    file: str | None,
    run: bool,
    server: str | None,
    token: str | None,
    as_json: bool,
) -> int:
    """Print the answer about each issue; returns the exit status. Raises SamehereError."""
    named = [*issues, *([] if file is None else _lines(file))]
    if not named:
        raise InputError(
            "Name at least one issue: its address, or the id of a report.", code="no_issues", field="issue"
        )
    if run and server is None:
        raise SetupError("--run needs a service that runs the reports: add --server URL.", code="no_server")
    if server is None:
        items, base = _of_this_machine(named), ""
    else:
        client = Client(server, token=token)
        if run:
            _run_again(client, client.gate(named))
        items, base = client.gate(named), client.url
    return _print(items, _answers_in(items), base=base, as_json=as_json)


def _lines(file: str) -> list[str]:
    data = read_bytes(file, MOST_FILE_BYTES)
    if len(data) > MOST_FILE_BYTES:
        raise InputError(
            f"A list of issues has at most {MOST_FILE_BYTES} bytes.", code="too_large", field="file"
        )
    lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return [line for line in lines if line]


def _of_this_machine(issues: Sequence[str]) -> list[dict[str, Any]]:
    settings = load_settings()
    with service_database() as sessions:
        from app.runs.lookup.gate import gate

        with sessions.begin() as session:
            items = gate(session, issues, most=settings.gate_issues)
            return [item.model_dump(mode="json") for item in items]


def _run_again(client: Client, items: Sequence[Mapping[str, Any]]) -> None:
    """Run each report again whose answer does not rest on a run of today, and wait for all of them."""
    today = now().date().isoformat()
    answers = _answers_in(items)
    reports = dict.fromkeys(
        one.report for one in answers if one.report and not str(one.ran_at or "").startswith(today)
    )
    progress = ConsoleProgress(errors())
    with progress.status(f"Waiting for {client.url}"):
        started = []
        for report in reports:
            try:
                started.append(client.run_report(report, {}, idempotency_key=new_id()))
            except ConflictError as error:
                # A withdrawn report can't be run. The answer says so.
                progress.note(f"{report}: {error.message}")
        for each in started:
            for _ in client.follow(str(each.get("id", ""))):
                pass


def _answers_in(items: Sequence[Mapping[str, Any]]) -> list[_Answer]:
    try:
        return [_Answer.model_validate(item) for item in items]
    except ValidationError as error:
        raise not_of_this_version("gate") from error


def _print(
    items: Sequence[Mapping[str, Any]], answers: Sequence[_Answer], *, base: str, as_json: bool
) -> int:
    if as_json:
        print_json({"items": list(items)})
    else:
        for one in answers:
            link = f"  {base}{one.url}" if one.url else ""
            print_line(
                f"{one.answer:<13} {one_line(one.issue, most=MOST_NAME)}\n"
                f"  {one_line(one.words, most=MOST_WORDS)}{link}"
            )
    if any(one.answer is GateAnswer.STILL_HAPPENS for one in answers):
        return STILL_HAPPENS
    return 0 if all(one.may_close for one in answers) else MAY_NOT_CLOSE
