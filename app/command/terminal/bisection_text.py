"""A bisection in a terminal: the answer, its neighbours, and each point of the series."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from app.command.terminal.plain_text import one_line, visible
from app.runs.run_object.bisection_document import BisectionDocument, ConfoundedPart, PointPart
from app.runs.run_object.removal_part import removal_words, warning_words
from app.targets.target import Target
from app.targets.versions.bisection import Kind

# Fields by which two neighbours differ, in the text; the JSON has all.
MOST_DIFFERING = 8

_MOST_REASON = 200
_MOST_WARNING = 300
_STYLES = {Kind.APPEARED: "red", Kind.FIXED: "green", Kind.THROUGHOUT: "red", Kind.MIXED: "magenta"}


def render_bisection(document: BisectionDocument, console: Console) -> None:
    """Print the whole answer."""
    for part in _parts(document):
        console.print(part, soft_wrap=False, highlight=False)


def _parts(document: BisectionDocument) -> Iterator[RenderableType]:
    head = Text("cancelled; so far: " if document.state == "cancelled" else "", "bold yellow")
    if document.kind is not None:
        head.append(f"{document.kind}: ", f"bold {_STYLES.get(document.kind, 'yellow')}")
    yield head.append(document.summary)
    for ask in document.ask:
        yield Text(f"- {ask.text} ({ask.code})")
    neighbours = {
        "last_good": document.last_good,
        "first_bad": document.first_bad,
        "last_bad": document.last_bad,
        "first_good": document.first_good,
    }
    for name, value in neighbours.items():
        if value is not None:
            yield Text(f"{name}: {value}")
    if document.points:
        yield Text()
        yield _table(document)
        yield Text(f"\n{document.attempts} attempts.{_rate_note(document)}", "dim")
    if document.removal is not None:
        yield Text(removal_words(document.removal))
        if document.removal.category:
            yield Text(f"  {one_line(warning_words(document.removal), most=_MOST_WARNING)}")
    if document.one_axis:
        yield Text(f"The two environments differ in {document.axis} alone.")
    if document.confounded is not None:
        yield from _confounding(document.confounded)


def _rate_note(document: BisectionDocument) -> str:
    if document.rate is None:
        return ""
    return f" Where it happens, it is seen in an estimated {100 * document.rate:.0f} % of attempts."


def _confounding(confounded: ConfoundedPart) -> Iterator[Text]:
    fields = [visible(name) for name in confounded.differing]
    more = (
        f" and {len(fields) - MOST_DIFFERING} more (--json has them)" if len(fields) > MOST_DIFFERING else ""
    )
    yield Text(f"Confounded: they also differ in {', '.join(fields[:MOST_DIFFERING])}{more}.", "yellow")
    if confounded.command is not None:
        yield Text(
            f"The missing cell; add it, and bisect again:\n  {visible(confounded.command)}",
            "yellow",
        )


def _table(document: BisectionDocument) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for column in (document.axis, "seen", "target", "reason, or other result"):
        table.add_column(column, overflow="fold")
    for point in document.points:
        table.add_row(
            Text(point.value), Text(_times(point)), Text(visible(_label(point))), Text(_reason(point))
        )
    return table


def _times(point: PointPart) -> str:
    if point.of:
        return f"{point.seen} of {point.of}"
    return "can't tell" if point.given_up or point.untold else "not tried"


def _label(point: PointPart) -> str:
    return Target.model_validate(point.target.model_dump()).label()


def _reason(point: PointPart) -> str:
    if point.reason is None:
        return ""
    return one_line(point.reason.detail or point.reason.code, most=_MOST_REASON)
