"""Changes, a comparison and a bisection as Markdown. Untrusted text stands only inside fences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.judging.cause.cause import sentence
from app.runs.lookup.changes import ChangeSummary
from app.runs.lookup.comparisons import ComparisonDetails
from app.runs.run_object.bisection_document import BisectionDocument, PointPart
from app.runs.run_object.removal_part import removal_words, warning_words
from app.states import OPEN_STATES
from app.web.text.labels import look
from app.web.views.markdown_copy import fence, plain
from app.web.views.side_by_side import target_label

MOST_DIFFERENCES, MOST_POINTS, MOST_CHARACTERS = 8, 60, 400


def changes_markdown(changes: Sequence[ChangeSummary], *, base: str, address: str) -> str:
    """A line for each change, newest first. `base` is the address of this service."""
    lines = [_change(change, base=base) for change in changes]
    return "\n".join(lines or ["No change matches."]) + f"\n\nThe evidence: {address}\n"


def _change(change: ChangeSummary, *, base: str) -> str:
    title = plain(change.title, "") or "a report"
    report = f"[{title}]({base}/reports/{change.report})"
    words = f"{plain(change.words)} Found {change.created_at:%-d %b %Y}."
    line = f"- **{look(change.kind).name}**, {report}: {words}"
    if change.removal is not None and change.removal.category:
        line += f" Announced: {plain(removal_words(change.removal), 'an older version warned of it.')}"
    return line


def comparison_markdown(details: ComparisonDetails, *, address: str) -> str:
    """Both sides of a comparison, the result, and the first differences."""
    return "\n\n".join(_comparison(details, address)) + "\n"


def _comparison(details: ComparisonDetails, address: str) -> Iterator[str]:
    result, first = details.comparison.result, details.comparison.first_difference
    one, other = (_code(target_label(side)) for side in (details.baseline, details.candidate))
    yield f"**{look(result).sentence}** {one} against {other}."
    if first:
        yield "First difference:\n\n" + _sides(first["about"], first["baseline"], first["candidate"])
    if details.comparison.cause != "not_analysed":
        yield plain(sentence(details.comparison.cause), "")
    for name, differences in (("How they ended", details.endings), ("Environments", details.environment)):
        if differences:
            lines = "\n".join(
                f"{each.about}: {_short(each.baseline)} | {_short(each.candidate)}"
                for each in differences[:MOST_DIFFERENCES]
            )
            yield f"{name} (baseline | candidate):\n\n{fence(lines)}"
    yield f"All of it: {address}"


def _sides(about: str, baseline: str, candidate: str) -> str:
    return fence(f"{about}\n- {_short(baseline) or 'nothing'}\n+ {_short(candidate) or 'nothing'}", "diff")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def bisection_markdown(bisection: BisectionDocument, *, address: str) -> str:
    """The answer, the neighbours, and every point that was tried."""
    return "\n\n".join(filter(None, _bisection(bisection, address))) + "\n"


def _bisection(bisection: BisectionDocument, address: str) -> Iterator[str]:
    state = {"cancelled": "Cancelled. "}.get(bisection.state, "")
    if bisection.state in OPEN_STATES:
        state = "Not finished. So far: "
    answer = plain(bisection.summary) or "Nothing was tried yet."
    yield f"**Bisection over {plain(bisection.axis)}.** {state}{answer}"
    if bisection.removal is not None:
        yield plain(removal_words(bisection.removal), "A newer version lacks what an older one had.")
        if bisection.removal.category:
            yield f"The warning:\n\n{fence(warning_words(bisection.removal))}"
    if bisection.one_axis:
        yield f"The two environments differ only in {plain(bisection.axis)}."
    tried = [point for point in bisection.points if point.of or point.untold or point.given_up]
    rows = [f"| {_code(point.value)} | {_times(point)} |" for point in tried[:MOST_POINTS]]
    if rows:
        yield "\n".join([f"| {plain(bisection.axis)} | seen |", "| --- | --- |", *rows])
    yield f"All points and attempts: {address}"


def _times(point: PointPart) -> str:
    return f"{point.seen} of {point.of}" if point.of else "no answer"


def _code(label: str) -> str:
    return f"`{label}`" if plain(label.replace("@", " ").replace("_", ""), "") else "…"
