"""The answer as Markdown for an issue: one minute of a maintainer's time. What strangers wrote stands in fences only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from app.judging.judgement import CheckResult
from app.runs.run_object.document import FindingPart, JobPart, RunDocument
from app.runs.run_object.maintainer_acts import Overruling
from app.visible_text import visible
from app.web.text.labels import VERDICTS
from app.web.views import runs as views
from app.web.views import wording
from app.web.views.environments import what_sets_apart
from app.web.views.grid import Grid, since
from app.web.views.runs import label_of

MOST_ROWS = 12
MOST_QUOTED = 1_000
MOST_TRACED, MOST_TOLD = 3, 3_000
_RUN_OF_TICKS = re.compile(r"`+")
# What our own words, labels and version numbers are made of.
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;@+*/=%()'’≈–—!?-]*")
_CHECKS = {
    CheckResult.MET: "seen as claimed",
    CheckResult.ABSENT: "it did not happen",
    CheckResult.OTHER: "something else was seen",
    CheckResult.UNREACHED: "not reached",
}


def fenced(text: str, language: str = "") -> str:
    """A block that nothing in the text can end."""
    shown = visible(text).replace("\r", "\n")
    longest = max((len(run) for run in _RUN_OF_TICKS.findall(shown)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{shown}{'' if shown.endswith(chr(10)) else chr(10)}{ticks}"


def is_plain(text: str) -> bool:
    """Whether a text may stand outside a fence: no mark-up, no mention, no address."""
    return (
        _PLAIN.fullmatch(text) is not None and "://" not in text and not re.search(r"(?:^|\s)@\w|www\.", text)
    )


def plain(text: str, otherwise: str = "…") -> str:
    """A label or a version as it is; what is none is left out."""
    return text if is_plain(text) else otherwise


def run_markdown(
    run: RunDocument,
    *,
    address: str,
    history: Grid | None = None,
    tried_more: bool = False,
    said: Overruling | None = None,
) -> str:
    """A run, or a report by its run that stands with its `history`, in a few lines; `said` is a maintainer's word on it."""
    said = said or run.overruled
    word = (
        ""
        if said is None
        else f"A maintainer says: {_name(said.verdict)}. What follows is what was measured."
    )
    return "\n\n".join(filter(None, [word, *_parts(run, address, history, tried_more=tried_more)])) + "\n"


def _parts(run: RunDocument, address: str, history: Grid | None, *, tried_more: bool) -> Iterator[str]:
    yield f"**{wording.headline(run, tried_more=tried_more)}**"
    yield plain(wording.what_is_missing(run), "")
    yield "" if history is None else since(history)
    if run.contributed is not None:
        yield "Contributed from elsewhere, and judged here from its attempts."
    yield wording.defect_words(run)
    for ask in run.ask:
        yield f"Please: {plain(ask.text)}"
    yield _table(history) if history is not None and len(history.columns) > 1 else _cells(run)
    yield from _claim(run)
    yield _operations(run)
    yield _apart(run)
    yield from _repeat(run)
    yield f"All attempts, environments and a script to repeat each cell: {address}"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _cells(run: RunDocument) -> str:
    if not run.jobs:
        return ""
    rows = [(_code(label_of(job)), _verdict(job), _times(job)) for job in run.jobs[:MOST_ROWS]]
    more = len(run.jobs) - len(rows)
    return _rows(("target", "verdict", "times"), rows) + (
        f"\n\n… and {more} more targets." if more > 0 else ""
    )


def _table(grid: Grid) -> str:
    rows = []
    for row in grid.rows[:MOST_ROWS]:
        words = [""] * sum(cell.span for cell in row.cells)
        at = 0
        for cell in row.cells:
            for offset in range(cell.span):
                words[at + offset] = "not tried" if cell.point is None else _name(cell.point.verdict)
            at += cell.span
        rows.append((_code(row.label), *words))
    more = grid.total + sum(len(fold.rows) for fold in grid.folds) - len(rows)
    table = _rows(("target", *(plain(column.name) for column in grid.columns)), rows)
    return table + (f"\n\n… and {more} more targets." if more > 0 else "")


def _code(label: str) -> str:
    return f"`{label}`" if is_plain(label.replace("@", " ").replace("_", "")) else "…"


def _name(verdict: object) -> str:
    look = VERDICTS.get(verdict)  # type: ignore[call-overload]
    return look.name if look is not None else "not judged"


def _verdict(job: JobPart) -> str:
    return _name(job.verdict)


def _times(job: JobPart) -> str:
    return f"{job.matched} of {job.of}" if job.of else ""


def _claim(run: RunDocument) -> Iterator[str]:
    bugs = {check.text for check in run.report.claim.checks if check.role == "bug"}
    shown = 0
    for finding in _strongest(run):
        if finding.text not in bugs or shown == 2:
            continue
        shown += 1
        yield f"The report says (here: {_CHECKS[finding.result]}):\n\n{fenced(_short(finding.text))}"
        if finding.observed and finding.observed != finding.text:
            yield f"Seen:\n\n{fenced(_short(finding.observed))}"
        if finding.exact:
            yield f"In full:\n\n{fenced(_short(finding.exact))}"


def _strongest(run: RunDocument) -> list[FindingPart]:
    order = list(CheckResult)
    best: dict[str, FindingPart] = {}
    for job in run.jobs:
        for finding in job.checks:
            if finding.text not in best or order.index(finding.result) < order.index(
                best[finding.text].result
            ):
                best[finding.text] = finding
    return list(best.values())


def _short(text: str, most: int = MOST_QUOTED) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else shown[:most] + "\n…"


def _operations(run: RunDocument) -> str:
    """What the operations of traced cells show. They are named by what the script loaded, so all of it is fenced."""
    traces = views.traces_of(run)
    if not traces:
        return ""
    shown = [
        f"{label}:\n" + "\n".join(f"- {one}" for one in sentences)
        for label, sentences in traces[:MOST_TRACED]
    ]
    more = [f"… and {len(traces) - MOST_TRACED} more traced cells."] if len(traces) > MOST_TRACED else []
    return f"What the operations show:\n\n{fenced(_short(chr(10).join((*shown, *more)), MOST_TOLD))}"


def _apart(run: RunDocument) -> str:
    likely = [one for one in what_sets_apart(run) if one.likely][:4]
    if not likely:
        return ""
    lines = "\n".join(f"{one.name}: {', '.join(one.there)}  |  {', '.join(one.elsewhere)}" for one in likely)
    return f"What sets the targets apart (where it happens | where it does not):\n\n{fenced(lines)}"


def _repeat(run: RunDocument) -> Iterator[str]:
    label = next(iter([*run.where, *run.not_where]), "")
    if label and is_plain(label.replace("@", " ").replace("_", "")):
        yield f"To repeat it: `samehere reproduce FILE --target {label}`"
