"""`samehere workflow-summary`: a run, or answers of the gate, as outputs and summary of a workflow's step.

They hold nothing of a report, a script or its output: other steps may read them, and GitHub shows them.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from app.command.files.source import display_name, read_bytes
from app.command.terminal.consoles import print_line
from app.errors import InputError, SetupError, TooLargeError
from app.judging.report.gate import GateAnswer
from app.runs.run_object.answer.in_markdown import cell_table, plain
from app.runs.run_object.document import RunDocument

_MOST_BYTES = 64 * 1024 * 1024


class _Answer(BaseModel):
    """The answer of the gate about one issue."""

    issue: str
    answer: GateAnswer
    may_close: bool
    words: str
    url: str | None = None


class _Answers(BaseModel):
    """The output of `samehere gate --json`."""

    items: list[_Answer]


def write_summary(file: str, *, bundle: str | None) -> None:
    """Write the outputs and the summary into the files of the runner. Raises SamehereError."""
    document = _read(file)
    if isinstance(document, _Answers):
        _write_answers(document.items, file)
    else:
        _write_run(document, file, bundle=bundle)


def _write_answers(answers: Sequence[_Answer], file: str) -> None:
    closable = [one for one in answers if one.may_close]
    happening = [one for one in answers if one.answer is GateAnswer.STILL_HAPPENS]
    outputs = {
        "may-close": _as_list(closable),
        "still-happens": _as_list(happening),
        "answers": str(Path(file).resolve()),
    }
    _append("GITHUB_OUTPUT", "".join(_output(name, value) for name, value in outputs.items()))
    rows = [
        f"| {plain(one.issue)} | {plain(one.answer.replace('_', ' '))} | {plain(one.words)} |"
        for one in answers
    ]
    _append("GITHUB_STEP_SUMMARY", "\n".join(["| issue | answer | |", "|---|---|---|", *rows, ""]))
    print_line(f"{len(closable)} of {len(answers)} may be closed, {len(happening)} still happen")


def _as_list(answers: Sequence[_Answer]) -> str:
    return json.dumps([one.model_dump(include={"issue", "words", "url"}) for one in answers])


def _write_run(run: RunDocument, run_file: str, *, bundle: str | None) -> None:
    outputs = {
        "verdict": run.verdict or "",
        "seen": "true" if run.seen else "false",
        "defect": run.defect.value,
        "summary": " ".join(run.summary.split()),
        "run": str(Path(run_file).resolve()),
        "bundle": str(Path(bundle).resolve()) if bundle is not None and Path(bundle).exists() else "",
    }
    _append("GITHUB_OUTPUT", "".join(_output(name, value) for name, value in outputs.items()))
    _append("GITHUB_STEP_SUMMARY", "\n".join(_summary(run)) + "\n")
    print_line(f"{outputs['verdict']}: {outputs['summary']}")


def _read(file: str) -> RunDocument | _Answers:
    data = read_bytes(file, _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise TooLargeError(f"{display_name(file)} is larger than {_MOST_BYTES} bytes.", field="file")
    try:
        content = json.loads(data)
        is_of_gate = isinstance(content, dict) and "items" in content
        return (_Answers if is_of_gate else RunDocument).model_validate(content)
    except (ValueError, ValidationError, RecursionError) as error:
        raise InputError(
            f"{display_name(file)} is no run: give the output of `samehere reproduce --json` or of"
            " `samehere gate --json`.",
            code="not_a_run",
            field="file",
        ) from error


def _append(variable: str, text: str) -> None:
    """Add a text to the file that a variable of the runner names."""
    name = os.environ.get(variable)
    if not name:
        raise SetupError(f"{variable} is not set: this command is for a step of GitHub Actions.")
    try:
        with Path(name).open("a", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise SetupError(f"The file of {variable} can't be written: {error.strerror}.") from error


def _output(name: str, value: str) -> str:
    """One output. Nobody can guess the line that ends it, so no value sets another output."""
    end = f"end_{secrets.token_hex(16)}"
    return f"{name}<<{end}\n{value}\n{end}\n"


def _summary(run: RunDocument) -> Iterator[str]:
    yield f"### samehere: {plain((run.verdict or 'no verdict').replace('_', ' '))}"
    yield ""
    yield plain(run.summary)
    yield ""
    for ask in run.ask:
        yield f"- {plain(ask.text)}"
    if run.jobs:
        yield ""
        yield from cell_table(run.jobs)
    yield ""
    facts: Mapping[str, str | None] = {"Defect": run.defect.value, "Cause": run.cause, "Newest": run.newest}
    yield " · ".join(f"{name}: {plain(value)}" for name, value in facts.items() if value)
