"""`samehere read`: shows what is read from a report, and what is missing; runs nothing."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from app.clock import now
from app.command.files.claim_file import given_claim_text
from app.command.files.source import Form, read_source
from app.command.service.configuration import load_settings
from app.command.terminal.consoles import output, print_json
from app.command.terminal.plain_text import one_line, visible
from app.command.terminal.reading_text import PROBE_HINT, environment_lines, probe_lines, script_lines
from app.errors import InputError
from app.ids import new_id
from app.intake.model.answer import MOST_ANSWER
from app.intake.model.prompt import messages, schema
from app.intake.read import read, text_for_model, with_answer
from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.runs.run_object.answer.check_findings import told_apart
from app.runs.run_object.assemble import assemble, report_part
from app.runs.run_object.document import RunDocument
from app.runs.run_object.facts import RunFacts

MOST_CHARACTERS = 200


def read_report(
    file: str,
    *,
    form: Form,
    as_json: bool,
    claim: str | None = None,
    claim_file: str | None = None,
    answer_file: str | None = None,
) -> int:
    """Print the reading of a file; the exit status is 0. Raises InputError.

    `answer_file` holds the answer of a model to the prompt of this file.
    """
    settings = load_settings()
    source = read_source(file, form=form, most_bytes=settings.read_limits.most_bytes)
    given = given_claim_text(claim, claim_file, beside=file, most_bytes=settings.read_limits.report_bytes)
    reading = read(source.text, form=source.form, claim=given, limits=settings.read_limits)
    if answer_file is not None and given is not None:
        raise InputError(
            "A model's answer does not count beside a claim of your own. Give one of them.", field="answer"
        )
    if answer_file is not None:
        answer = read_source(answer_file, form="script", most_bytes=MOST_ANSWER).text
        reading = with_answer(reading, answer, text=source.text)
    if as_json:
        print_json(as_data(reading))
    else:
        output().print(_as_text(reading))
    return 0


def print_prompt(file: str, *, form: Form) -> int:
    """Print the messages and the schema that a model would get; the exit status is 0. Raises InputError."""
    settings = load_settings()
    source = read_source(file, form=form, most_bytes=settings.read_limits.most_bytes)
    print_json({"messages": messages(text_for_model(source.text)), "schema": schema()})
    return 0


def as_data(reading: Reading) -> dict[str, Any]:
    """The reading in the form of `reports:read`."""
    report = report_part(reading).model_dump(mode="json", by_alias=True)
    verdict = str(Verdict.NEEDS_INFO) if reading.ask else None
    return {"report": report, "verdict": verdict, "ask": [ask.model_dump(mode="json") for ask in reading.ask]}


def _document(reading: Reading) -> RunDocument:
    return assemble(
        RunFacts(id=new_id(), state="finished", created_at=now(), title=reading.title), reading, ()
    )


def _as_text(reading: Reading) -> Text:
    document = _document(reading)
    report = document.report
    text = Text()
    text.append(one_line(report.title, most=MOST_CHARACTERS) or "(no title)", "bold").append("\n\n")
    for item in (*script_lines(report.scripts), *probe_lines(report), *environment_lines(document)):
        text.append(f"{item}\n")
    text.append("\n" if report.claim.checks else "\nno claim that could be checked\n")
    for check in report.claim.checks:
        where = " ".join(visible(f"{key} {value}") for key, value in check.where.items() if value)
        value = visible(told_apart(report.claim.checks, check))
        kind = ", ".join(word for word in (check.role, check.kind, value, where) if word)
        text.append(f"claim ({kind}): {one_line(check.text, most=MOST_CHARACTERS)}\n")
    for dropped in reading.model.dropped if reading.model else ():
        text.append(f"not taken from the model's answer: {visible(dropped)}\n", "yellow")
    for ask in reading.ask:
        text.append(f"to ask ({ask.code}): {ask.text}\n", "yellow")
    if reading.ask and reading.probe is None:
        text.append(f"{PROBE_HINT}\n", "dim")
    return text
