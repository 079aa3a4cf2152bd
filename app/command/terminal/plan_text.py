"""A plan in a terminal: its cells, those that no node serves and why, and its cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.command.terminal.plain_text import visible
from app.command.terminal.render import label
from app.runs.estimates.wording import BASIS, how_long
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.parts.estimates import EstimatePart, RangePart


def render_plan(document: RunDocument, console: Console) -> None:
    """Print the plan of a run, or the questions without whose answers nothing would run."""
    estimate = document.estimate
    if document.ask or estimate is None:
        for ask in document.ask:
            console.print(Text(f"{ask.text} ({ask.code})", "yellow"), highlight=False)
        console.print(Text("Nothing would be run: this is missing."), highlight=False)
        return
    console.print(_cells(document), highlight=False)
    for line in _summary(estimate):
        console.print(Text(visible(line)), highlight=False)


def _cells(document: RunDocument) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for column in ("target", "attempts", "seconds each", "starts"):
        table.add_column(column, overflow="fold")
    for job in document.jobs:
        table.add_row(Text(visible(label(job))), *_row(job))
    return table


def _row(job: JobPart) -> tuple[Text, Text, Text]:
    if job.estimate is None:
        reason = job.reason.detail if job.reason is not None else "it can't be run"
        return Text("none", "yellow"), Text(""), Text(visible(f"not served: {reason}"), "yellow")
    least, most = job.estimate.attempts_at_least, job.estimate.attempts_at_most
    attempts = str(least) if least == most else f"{least} to {most}"
    starts = "" if job.waiting is None or job.waiting.starts_in is None else how_long(job.waiting.starts_in)
    return Text(attempts), Text(how_long(job.estimate.seconds)), Text(starts)


def _summary(estimate: EstimatePart) -> Iterator[str]:
    cells = _count_cells(estimate.cells)
    yield f"{cells}, {estimate.not_served} of them served by no node." if estimate.not_served else f"{cells}."
    attempts = f"{estimate.attempts_at_least} to {estimate.attempts_at_most} attempts"
    machine_time = how_long(estimate.machine_seconds)
    yield f"{attempts}; machine time {machine_time}; done in {_time_until_end(estimate.done_in)}."
    yield BASIS[estimate.basis]
    if estimate.contrast is not None:
        yield f"If it happens in each of them, one more may be tried after the verdict: {estimate.contrast}."
    for each in estimate.left_out:
        yield f"exclude {each.exclude} leaves out {_count_cells(each.cells)}."


def _count_cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"


def _time_until_end(seconds: RangePart | None) -> str:
    return "an unknown time" if seconds is None else how_long(seconds)
