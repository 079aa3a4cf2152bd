"""The answer as Markdown, to paste into an issue. A maintainer reads it in one minute.

Untrusted text stands only inside fences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from app.judging.judgement import CheckResult
from app.judging.needs.status import NeedStatus
from app.judging.report.owner import Owner
from app.runs.run_object.answer.check_findings import findings_of, told_apart
from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.answer.disposition_part import DISPOSITIONS, DispositionPart
from app.runs.run_object.answer.flips import flip_in
from app.runs.run_object.answer.new_warnings import NewWarning, new_warnings_of, warning_text
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.bisection_document import BisectionPart
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.maintainer_acts import Overruling
from app.runs.run_object.reading_notes import ignored_needs_words, outcomes_in_words
from app.runs.run_object.removal_part import RemovalPart, removal_words, warning_words
from app.visible_text import visible
from app.web.parts import SENTENCE, Lazy, draw_part
from app.web.text.labels import VERDICTS
from app.web.views import runs as views
from app.web.views import wording
from app.web.views.copies.bisection_words import bisected_words
from app.web.views.environment_text import environment_text
from app.web.views.environments import distinguishing_fields
from app.web.views.grid.since_sentence import since_sentence
from app.web.views.grid.table import Grid
from app.web.views.reporters_place import ReportersPlace, reporters_place
from app.web.views.runs import label_of

MOST_ROWS = 12
MOST_QUOTED = 1_000
MOST_REMOVALS = 3
MOST_TRACES, MOST_TRACE_CHARACTERS = 3, 3_000
_TICKS = re.compile(r"`+")
# Our own words, labels and version numbers have only these characters.
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;@+*/=%()'’≈–—×!?-]*")
# A tracker makes links of these, and tells people: a name after any sign (`(@ada`), another issue (`GH-7`). A
# `@` within a word, as in `cpu@torch-2.13`, is none of them.
_LINKS = re.compile(r"(?<![A-Za-z0-9])@\w|www\.|\bGH-\d", re.IGNORECASE)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 .,:;@+*/=%()'’≈–—×!?-]+")
_CHECKS = {
    CheckResult.MET: "seen as claimed",
    CheckResult.ABSENT: "it did not happen",
    CheckResult.OTHER: "something else was seen",
    CheckResult.UNREACHED: "not reached",
}


def fence(text: str, language: str = "") -> str:
    """A code block with a fence that nothing in the text can end."""
    content = visible(text).replace("\r", "\n")
    longest = max((len(run) for run in _TICKS.findall(content)), default=0)
    ticks = "`" * max(3, longest + 1)
    line_end = "" if content.endswith("\n") else "\n"
    return f"{ticks}{language}\n{content}{line_end}{ticks}"


def is_plain(text: str) -> bool:
    """Whether a text may stand outside a fence: it has no mark-up, no mention, no reference, no address."""
    return _PLAIN.fullmatch(text) is not None and "://" not in text and not _LINKS.search(text)


def plain(text: str, otherwise: str = "…") -> str:
    """A label or a version. Any other text is replaced by `otherwise`."""
    return text if is_plain(text) else otherwise


def run_markdown(
    run: RunDocument,
    *,
    address: str,
    grid: Lazy[Grid] | None = None,
    answer: Lazy[AnswerPart] | None = None,
    overruling: Overruling | None = None,
    disposition: DispositionPart | None = None,
    removals: Sequence[RemovalPart] = (),
    bisections: Sequence[BisectionPart] = (),
    new_warnings: Lazy[list[NewWarning]] | None = None,
    reporters: Lazy[ReportersPlace] | None = None,
    elsewhere: Lazy[bool] | None = None,
    of_report: str = "",
) -> str:
    """A run in a few lines.

    For a report: its current run with its `grid`, its `answer`, a maintainer's `overruling` or
    `disposition`, what newer versions lack (`removals`), and its `bisections`.

    A part that can't be written is one line that says so.
    """
    preface = _preface(overruling or run.overruled, disposition)
    parts = (
        draw_part(f"{name}, in Markdown", write, placeholder=partial(SENTENCE.format, name), run=run.id)
        for name, write in _parts(
            run,
            address,
            grid,
            answer or Lazy(lambda: run.answer),
            removals,
            bisections=bisections,
            new_warnings=new_warnings or Lazy(lambda: new_warnings_of(flip_in(run))),
            reporters=reporters or Lazy(lambda: reporters_place(run, (), {})),
            is_free_elsewhere=elsewhere or Lazy(lambda: False),
            disposition=disposition,
            is_known=bool(of_report),
        )
    )
    # For a run, what its report knows beyond it.
    more = f"{_plain_sentence(of_report)} It is on the page of the report." if of_report else ""
    return "\n\n".join(filter(None, [preface, more, *parts])) + "\n"


def _preface(overruling: Overruling | None, disposition: DispositionPart | None) -> str:
    """The word of a maintainer, which goes before the measured result. It holds no text of anybody."""
    words = ""
    if disposition is not None:
        known = DISPOSITIONS[disposition.word]
        words = f"{known.name}: {known.sentence}"
    elif overruling is not None:
        words = f"{_name(overruling.verdict)}."
    return f"A maintainer says: {words} The measured result follows." if words else ""


def _parts(
    run: RunDocument,
    address: str,
    grid: Lazy[Grid] | None,
    answer: Lazy[AnswerPart],
    removals: Sequence[RemovalPart],
    *,
    bisections: Sequence[BisectionPart],
    new_warnings: Lazy[list[NewWarning]],
    reporters: Lazy[ReportersPlace],
    is_free_elsewhere: Lazy[bool],
    disposition: DispositionPart | None,
    is_known: bool,
) -> Iterator[tuple[str, Callable[[], str]]]:
    """The parts in their order: the name of each, and the function that writes it."""
    yield "the answer", lambda: _slots(answer(), disposition)
    yield "the new warnings", lambda: _new_warnings(new_warnings())
    yield "the environment", lambda: _environment(run)
    yield "the next step", lambda: plain(wording.what_is_missing(run), "")
    yield "since when", lambda: "" if grid is None or answer().baseline else since_sentence(grid())
    yield "the bisections", lambda: "\n\n".join(plain(bisected_words(one)) for one in bisections)
    if run.contributed is not None:
        yield (
            "the contributor",
            lambda: (
                "This run was contributed from another machine. It was judged here from its attempts. "
                + wording.signer_words(run)
            ),
        )
    yield "what was fixed", lambda: _correction(run)
    yield (
        "the contrast",
        lambda: _contrast(run, answer(), is_free_elsewhere=is_free_elsewhere(), is_known=is_known),
    )
    yield "the claims", lambda: _facets(run)
    yield "the needs", lambda: _needs(run, reporters())
    yield "what decides it", lambda: _missing(run)
    yield "the test of the cause", lambda: plain(wording.cause_test_words(run))
    yield "what is gone", lambda: _removal(run, removals, answer().whose)
    yield "the questions", lambda: "\n\n".join(f"Please: {plain(ask.text)}" for ask in run.ask)
    yield "the targets", lambda: _targets(run, None if grid is None else grid())
    yield "the claim", lambda: "\n\n".join(_claim(run))
    yield "the other readings", lambda: "\n\n".join(_other_readings(run))
    yield "the operations", lambda: _operations(run)
    yield "differences between targets", lambda: _distinguishing(run)
    yield "how to repeat it", lambda: _repeat(run)
    yield (
        "the address",
        lambda: f"All attempts, all environments, and a script that repeats each cell: {address}",
    )


def _slots(answer: AnswerPart, disposition: DispositionPart | None) -> str:
    """The four lines that every copy begins with. A maintainer may have decided what no test did."""
    is_decided = disposition is not None and answer.owner is Owner.OPEN
    slots = (
        ("What", answer.what),
        ("Where", answer.where),
        ("How sure", answer.how_sure),
        ("Whose", "A maintainer decided it." if is_decided else answer.whose),
        ("Known", "" if answer.known is None else answer.known.words),
    )
    return "\n".join(f"- **{name}:** {_plain_sentence(text)}" for name, text in slots if text)


def _new_warnings(warnings: Sequence[NewWarning]) -> str:
    """The warnings that only the newer version gives, fenced."""
    if not warnings:
        return ""
    first, text = warnings[0], "\n".join(map(warning_text, warnings))
    versions = f"{first.package} {first.newer} warns, and {first.older} does not:"
    begin = plain(versions, "The newer version warns, and the older one does not:")
    return f"{begin}\n\n{fence(_shorten(text))}"


def _plain_sentence(text: str) -> str:
    """A sentence of ours in which the name of a machine may have any characters."""
    return plain(_NOT_PLAIN.sub("…", text))


def _environment(run: RunDocument) -> str:
    text = environment_text(run)
    return f"Environment:\n\n{fence(_shorten(text))}" if text else ""


def _missing(run: RunDocument) -> str:
    """Why it is not decided whether it is a defect."""
    return "\n".join(f"Why it is not decided: {plain(each)}" for each in run.missing)


def _removal(run: RunDocument, removals: Sequence[RemovalPart], whose: str) -> str:
    """The removals in newer versions, and the warnings of older ones, which are fenced.

    The removal that `whose` names already is not named again.
    """
    parts = list(dict.fromkeys([*([] if run.removal is None else [run.removal]), *removals]))[:MOST_REMOVALS]
    lines = []
    for part in parts:
        warning, words = warning_words(part), removal_words(part)
        lines += [] if words in whose else [plain(words, "A newer version lacks what an older one had.")]
        lines += [f"The warning:\n\n{fence(_shorten(warning))}"] if warning else []
    return "\n\n".join(lines)


def _needs(run: RunDocument, reporters: ReportersPlace) -> str:
    """The needs that were not tried. Another run of the report may have tried the reporter's versions."""
    needs = [need for need in run.needs if need.status is not NeedStatus.EXERCISED]
    tried = reporters.of_other_run(run)
    if tried:
        needs = [need for need in needs if need.status is not NeedStatus.SUBSTITUTED]
    words = outcomes_in_words(need.model_copy(update={"name": plain(need.name)}) for need in needs)
    return "\n\n".join(
        filter(
            None, (ignored_needs_words(run.report.ignored_needs), plain(words, ""), _plain_sentence(tried))
        )
    )


def _correction(run: RunDocument) -> str:
    """That the claim is another one than the run fixed before its first attempt. Else nothing is said."""
    if run.fixed is None or run.fixed.claim_is_the_same:
        return ""
    return "The claim was corrected after the attempts. The report says by whom."


def _facets(run: RunDocument) -> str:
    """A line for each claim of a report that makes several."""
    return "\n".join(f"- Claim {_code(facet.name)}: {_name(facet.verdict)}" for facet in run.facets)


def _contrast(run: RunDocument, answer: AnswerPart, *, is_free_elsewhere: bool, is_known: bool) -> str:
    """The place without it, or that there is none."""
    words, label = contrast_sentence(run, answer, is_free_elsewhere=is_free_elsewhere, is_known=is_known)
    return f"{words} {_code(label)}." if label else words


def _targets(run: RunDocument, grid: Grid | None) -> str:
    return _table(grid) if grid is not None and len(grid.columns) > 1 else _cells(run)


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
    """The first two checks of what happens, each with its strongest finding."""
    order = list(CheckResult)
    checks = run.report.claim.checks
    count = 0
    for number, check in enumerate(checks):
        findings = [finding for _, finding in findings_of(run, number)]
        if check.role != "bug" or not findings or count == 2:
            continue
        count += 1
        finding = min(findings, key=lambda finding: order.index(finding.result))
        value = told_apart(checks, check)
        says = f"The report says{f' {plain(value)}' if value else ''}"
        yield f"{says} (here: {_CHECKS[finding.result]}):\n\n{fence(_shorten(finding.text))}"
        if finding.observed and finding.observed != finding.text:
            yield f"Seen:\n\n{fence(_shorten(finding.observed))}"
        if finding.exact:
            yield f"In full:\n\n{fence(_shorten(finding.exact))}"


def _other_readings(run: RunDocument) -> Iterator[str]:
    """The further readings, where one of them left the verdict open."""
    if any(job.reason is not None and job.reason.code == "two_readings" for job in run.jobs):
        for reading in run.report.claim.further:
            bug = next((check for check in reading.checks if check.role == "bug"), None)
            if bug is not None:
                yield f"It may also be read as:\n\n{fence(_shorten(bug.text))}"


def _shorten(text: str, most: int = MOST_QUOTED) -> str:
    content = visible(text)
    return content if len(content) <= most else content[:most] + "\n…"


def _operations(run: RunDocument) -> str:
    """The sentences about the operations of traced cells.

    The script can name operations as it likes, so all of this is inside a fence.
    """
    traces = views.traces_of(run)
    if not traces:
        return ""
    parts = [
        f"{label}:\n" + "\n".join(f"- {one}" for one in sentences)
        for label, sentences in traces[:MOST_TRACES]
    ]
    if len(traces) > MOST_TRACES:
        parts.append(f"… and {len(traces) - MOST_TRACES} more traced cells.")
    return f"The operations show:\n\n{fence(_shorten(chr(10).join(parts), MOST_TRACE_CHARACTERS))}"


def _distinguishing(run: RunDocument) -> str:
    likely = [one for one in distinguishing_fields(run) if one.likely][:4]
    if not likely:
        return ""
    lines = "\n".join(f"{one.name}: {', '.join(one.there)}  |  {', '.join(one.elsewhere)}" for one in likely)
    return (
        f"These fields differ between the targets (where it happens | where it does not):\n\n{fence(lines)}"
    )


def _repeat(run: RunDocument) -> str:
    label = next(iter([*run.where, *run.not_where]), "")
    can_stand = label and is_plain(label.replace("@", " ").replace("_", ""))
    return f"To repeat it: `samehere reproduce FILE --target {label}`" if can_stand else ""
