"""`samehere read`: what is taken from a report, and what would be asked; nothing is run."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.text import Text

from app.clock import now
from app.command.files.source import Form, read_source
from app.command.service.configuration import load_settings
from app.command.terminal.consoles import output
from app.command.terminal.plain_text import one_line, visible
from app.command.terminal.reading_text import PROBE_HINT, place_read, probe_read, scripts_read
from app.ids import new_id
from app.intake.read import read
from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.runs.run_object.assemble import RunFacts, assemble
from app.runs.run_object.document import RunDocument


def read_report(file: str, *, form: Form, as_json: bool) -> int:
    """Print it; always 0. Raises InputError."""
    settings = load_settings()
    source = read_source(file, form=form, most_bytes=settings.read_limits.most_bytes)
    reading = read(
        source.text,
        form=source.form,
        limits=settings.read_limits,
    )
    if as_json:
        sys.stdout.write(json.dumps(as_data(reading), indent=1, allow_nan=False) + "\n")
    else:
        output().print(_as_text(reading))
    return 0


def as_data(reading: Reading) -> dict[str, Any]:
    """The reading in the form of the run object."""
    document = _document(reading).model_dump(mode="json", by_alias=True)
    verdict = str(Verdict.NEEDS_INFO) if reading.ask else None
    return {"report": document["report"], "verdict": verdict, "ask": document["ask"]}


def _document(reading: Reading) -> RunDocument:
    return assemble(
        RunFacts(id=new_id(), state="finished", created_at=now(), title=reading.title), reading, ()
    )


def _as_text(reading: Reading) -> Text:
    document = _document(reading)
    report = document.report
    text = Text()
    text.append(one_line(report.title, most=200) or "(no title)", "bold").append("\n\n")
    for item in (*scripts_read(report.scripts), *probe_read(report), *place_read(document)):
        text.append(f"{item}\n")
    text.append("\n" if report.claim.checks else "\nno claim that could be checked\n")
    for check in report.claim.checks:
        where = " ".join(visible(f"{key} {value}") for key, value in check.where.items() if value)
        text.append(
            f"claim ({check.role}, {check.kind}{f', {where}' if where else ''}): {one_line(check.text, most=200)}\n"
        )
    for ask in reading.ask:
        text.append(f"to ask ({ask.code}): {ask.text}\n", "yellow")
    if reading.ask and reading.probe is None:
        text.append(f"{PROBE_HINT}\n", "dim")
    return text
