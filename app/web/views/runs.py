"""From a run object to what the templates draw: rows of cells, what differs, the command that repeats it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.judging.cause.cause import sentence
from app.judging.cause.trace_verdict import trace_sentences
from app.judging.judgement import CheckResult, Verdict
from app.runs.run_object.document import (
    AttemptPart,
    CheckPart,
    ComparisonPart,
    FindingPart,
    JobPart,
    RunDocument,
)
from app.states import OPEN_STATES
from app.web.text.untrusted import one_line
from worker.contract import AttemptKind, CardState, Gpu, ToolchainFacts

# On the page of a run; the rest is on further pages and on those of its cells.
MOST_CELLS = 40
MOST_COMPARED = 6
MOST_PRINTED = 6
MOST_FACTS = 80
# Rows of attempts that ended alike, attempts of one row, and of all rows.
MOST_ALIKE, MOST_NAMED, MOST_NAMED_OF_ALL = 20, 20, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One job as a row of the table."""

    job: JobPart
    label: str
    seen: str
    script: int
    waiting: bool
    # What is seen is a preview's: nothing that counts is there yet.
    early: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check of the claim with what became of it, strongest first, each with the targets of which it is true."""

    check: CheckPart
    results: list[tuple[CheckResult, list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What several targets printed alike, by the first attempt of the first of them."""

    labels: list[str]
    attempt: AttemptPart


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A comparison with the labels of its two cells."""

    part: ComparisonPart
    baseline: str
    candidate: str
    cause: str


def without_erased(run: RunDocument) -> RunDocument:
    """A run without the scripts of a withdrawn report: there is nothing left of them to look at."""
    return (
        run
        if run.withdrawn_at is None
        else run.model_copy(update={"report": run.report.model_copy(update={"scripts": []})})
    )


def label_of(job: JobPart) -> str:
    """The target as the command line writes it."""
    return job.target.label


def what_was_seen(job: JobPart) -> str:
    """The words for a cell: what stood in the claim's place, else how the first attempt ended, else its preview."""
    observed = next((finding.observed for finding in job.checks if finding.observed), "")
    if observed:
        return one_line(observed)
    shown = _first_shown(job)
    if shown is None:
        return ""
    if shown.exception is not None:
        return one_line(f"{shown.exception.type}: {shown.exception.message}")
    return one_line(shown.signal or shown.stdout or shown.stderr)


def _first_shown(job: JobPart) -> AttemptPart | None:
    """The first attempt that counts and has ended; until there is one, the preview."""
    ended = [attempt for attempt in job.attempts if attempt.outcome is not None]
    previews = [attempt for attempt in ended if attempt.kind is AttemptKind.PREVIEW]
    return next((attempt for attempt in ended if attempt.counted), next(iter(previews), None))


def _is_early(job: JobPart) -> bool:
    shown = _first_shown(job)
    return shown is not None and shown.kind is AttemptKind.PREVIEW


def cells_of(run: RunDocument) -> list[CellRow]:
    """The rows of the table, in the order of the plan."""
    numbers = {script.digest: number for number, script in enumerate(run.report.scripts, start=1)}
    return [
        CellRow(
            job=job,
            label=label_of(job),
            seen=what_was_seen(job),
            script=numbers.get(job.script, 1),
            waiting=job.state in OPEN_STATES,
            early=_is_early(job),
        )
        for job in run.jobs
    ]


def findings_of(run: RunDocument, number: int) -> list[tuple[str, FindingPart]]:
    """What became of a check on each target. Two checks may quote the same words: their findings come in the same order."""
    checks = run.report.claim.checks
    before = sum(check.text == checks[number].text for check in checks[:number])
    found = (
        (label_of(job), [one for one in job.checks if one.text == checks[number].text]) for job in run.jobs
    )
    return [(label, alike[before]) for label, alike in found if len(alike) > before]


def checks_of(run: RunDocument) -> list[CheckRow]:
    """The claim's checks, each with its results and where."""
    rows = []
    for number, check in enumerate(run.report.claim.checks):
        found: dict[CheckResult, list[str]] = {}
        for label, finding in findings_of(run, number):
            found.setdefault(finding.result, []).append(label)
        rows.append(
            CheckRow(
                check=check, results=[(result, found[result]) for result in CheckResult if result in found]
            )
        )
    return rows


def tally_of(run: RunDocument) -> list[tuple[Verdict, int]]:
    """How many cells came to each verdict."""
    counts = Counter(job.verdict for job in run.jobs if job.verdict is not None)
    return [(verdict, counts[verdict]) for verdict in Verdict if counts[verdict]]


def comparisons_of(run: RunDocument) -> list[ComparisonRow]:
    """Comparisons with the labels of their cells; those that say something first."""
    labels = {attempt.id: label for job in run.jobs for label in [label_of(job)] for attempt in job.attempts}
    rows = [
        ComparisonRow(
            part=part,
            baseline=labels.get(part.baseline, "?"),
            candidate=labels.get(part.candidate, "?"),
            cause=sentence(part.cause),
        )
        for part in run.comparisons
    ]
    return sorted(rows, key=lambda row: row.part.result in {"identical", "equivalent"})


def command_of(run: RunDocument) -> str:
    """The command that repeats the run's strongest cell."""
    label = next(iter([*run.where, *run.not_where, *(label_of(job) for job in run.jobs)]), "")
    target = f" --target {shlex.quote(label)}" if label else ""
    return f"samehere reproduce FILE{target}"


def printed_of(run: RunDocument) -> list[Printed]:
    """What was printed, each text once, by the first attempt of each cell; a preview while nothing that counts is there."""
    found: dict[tuple[str, str], Printed] = {}
    for job in run.jobs:
        early = _is_early(job)
        shown = next(
            (
                attempt
                for attempt in job.attempts
                if (attempt.counted or early) and (attempt.stdout or attempt.stderr)
            ),
            None,
        )
        if shown is not None:
            found.setdefault((shown.stdout, shown.stderr), Printed(labels=[], attempt=shown)).labels.append(
                label_of(job)
            )
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Attempts of one cell that ended alike; `named` are those that a page has links for."""

    label: str
    job: str
    attempts: tuple[AttemptPart, ...]
    named: tuple[AttemptPart, ...]

    @property
    def first(self) -> AttemptPart:
        """By which the others go."""
        return self.attempts[0]

    @property
    def more(self) -> int:
        """How many have no link of their own here."""
        return len(self.attempts) - len(self.named)

    @property
    def seconds(self) -> str:
        """`0.91`, or `0.91 to 1.20`."""
        found = sorted(attempt.wall_seconds for attempt in self.attempts if attempt.wall_seconds)
        ends = list(dict.fromkeys(f"{seconds:.2f}" for seconds in (*found[:1], *found[-1:])))
        return " to ".join(ends)

    @property
    def nodes(self) -> list[str]:
        """On which they ran, each once."""
        return list(dict.fromkeys(attempt.node for attempt in self.attempts if attempt.node))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """All attempts of a run as a table: `rows` of those alike, as many as a page shows, of `rows_all`."""

    rows: list[Alike]
    rows_all: int
    all: int
    ended: int


def attempts_alike(run: RunDocument) -> Attempts:
    """Every attempt, in the order of the cells; those that ended alike in one row."""
    found: dict[tuple[object, ...], list[AttemptPart]] = {}
    for job in run.jobs:
        for one in job.attempts:
            why = None if one.reason is None else one.reason.detail
            ended = (one.outcome, one.signal, one.exit_status, why, None if one.outcome else one.state)
            found.setdefault((job.id, one.kind, one.counted, one.start, *ended), []).append(one)
    labels = {job.id: job for job in run.jobs}
    rows: list[Alike] = []
    left = MOST_NAMED_OF_ALL
    for key, attempts in list(found.items())[:MOST_ALIKE]:
        named = tuple(attempts[: max(1, min(MOST_NAMED, left))])
        left -= len(named)
        job = labels[str(key[0])]
        rows.append(Alike(label=label_of(job), job=job.id, attempts=tuple(attempts), named=named))
    every = [one for attempts in found.values() for one in attempts]
    return Attempts(
        rows=rows, rows_all=len(found), all=len(every), ended=sum(one.outcome is not None for one in every)
    )


def traces_of(run: RunDocument) -> list[tuple[str, list[str]]]:
    """What the operations of each traced cell show, with the cell's label."""
    return [(label_of(job), trace_sentences(job.trace)) for job in run.jobs if job.trace is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """Cards of a node of which the same is to be said."""

    model: str
    state: CardState
    detail: str
    count: int


def cards_alike(gpus: Iterable[Gpu]) -> list[Cards]:
    """The cards of a node, those alike once, in their order."""
    counts = Counter((gpu.model, gpu.state, gpu.detail) for gpu in gpus)
    return [
        Cards(model=model, state=state, detail=detail, count=count)
        for (model, state, detail), count in counts.items()
    ]


def packages_held(chain: ToolchainFacts) -> list[str]:
    """What a toolchain holds, `torch 2.13.0` first, what most scripts import next."""
    versions = {**chain.packages, **({"torch": chain.torch} if chain.torch else {})}
    return [
        f"{name} {versions[name]}"
        for name in sorted(versions, key=lambda name: (name != "torch", name != "numpy", name))
    ]
