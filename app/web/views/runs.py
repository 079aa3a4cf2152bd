"""The parts of a run's page: cells, checks, attempts, comparisons, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.judging.cause.cause import sentence
from app.judging.cause.trace_verdict import trace_sentences
from app.judging.judgement import CheckResult, Verdict
from app.runs.run_object.answer.check_findings import findings_of, told_apart
from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import (
    AttemptPart,
    ComparisonPart,
    JobPart,
    RunDocument,
)
from app.states import OPEN_STATES
from app.web.text.short_texts import one_line
from worker.contract import AttemptKind, CardState, Gpu, ToolchainFacts

# The limits of a run's page. The rest is on its next pages and on the pages of its cells.
MOST_CELLS = 40
MOST_COMPARED = 5
MOST_PRINTED = 5
MOST_FACTS = 70
# The rows of the table of attempts, the links in one row, and the links in all rows.
MOST_GROUPS, MOST_LINKS_A_GROUP, MOST_LINKS = 20, 20, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One job as a row of the table."""

    job: JobPart
    label: str
    seen: str
    script: int
    waiting: bool
    # `seen` comes from a preview, because no attempt that counts has ended yet.
    is_preview: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One check of the claim with its results, strongest first. Each result has the targets that gave it.

    `number` is there if another check has the same words. `bug_seen` has the targets that show the bug.
    """

    check: CheckPart
    number: str
    results: list[tuple[CheckResult, list[str]]]
    bug_seen: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedText:
    """A text that one target or several printed. `attempt` is the first attempt of the first target."""

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
    """The run. If its report was withdrawn, it has no scripts, because their text is erased."""
    return (
        run
        if run.withdrawn_at is None
        else run.model_copy(update={"report": run.report.model_copy(update={"scripts": []})})
    )


def label_of(job: JobPart) -> str:
    """The target as the command line writes it."""
    return job.target.label


def what_was_seen(job: JobPart) -> str:
    """The observation of a cell on one line: the finding of a check, else how the first attempt ended."""
    observed = next((finding.observed for finding in job.checks if finding.observed), "")
    if observed:
        return one_line(observed)
    attempt = _first_ended(job)
    if attempt is None:
        return ""
    if attempt.exception is not None:
        return one_line(f"{attempt.exception.type}: {attempt.exception.message}")
    return one_line(attempt.signal or attempt.stdout or attempt.stderr)


def _first_ended(job: JobPart) -> AttemptPart | None:
    """The first attempt that counts and has ended. Until there is one, the preview if it has ended."""
    ended = [attempt for attempt in job.attempts if attempt.outcome is not None]
    previews = [attempt for attempt in ended if attempt.kind is AttemptKind.PREVIEW]
    return next((attempt for attempt in ended if attempt.counted), next(iter(previews), None))


def _shows_preview(job: JobPart) -> bool:
    attempt = _first_ended(job)
    return attempt is not None and attempt.kind is AttemptKind.PREVIEW


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
            is_preview=_shows_preview(job),
        )
        for job in run.jobs
    ]


def checks_of(run: RunDocument) -> list[CheckRow]:
    """The checks of the claim, each with its results and their targets."""
    bug_seen = bug_labels(run)
    rows = []
    for number, check in enumerate(run.report.claim.checks):
        labels: dict[CheckResult, list[str]] = {}
        for job, finding in findings_of(run, number):
            labels.setdefault(finding.result, []).append(label_of(job))
        results = [(result, labels[result]) for result in CheckResult if result in labels]
        number_of_check = told_apart(run.report.claim.checks, check)
        rows.append(CheckRow(check=check, number=number_of_check, results=results, bug_seen=bug_seen))
    return rows


def bug_labels(run: RunDocument) -> frozenset[str]:
    """The targets on which a check of the bug was met."""
    return frozenset(
        label_of(job)
        for number, check in enumerate(run.report.claim.checks)
        if check.role == "bug"
        for job, finding in findings_of(run, number)
        if finding.result is CheckResult.MET
    )


def tally_of(run: RunDocument) -> list[tuple[Verdict, int]]:
    """The number of cells with each verdict."""
    counts = Counter(job.verdict for job in run.jobs if job.verdict is not None)
    return [(verdict, counts[verdict]) for verdict in Verdict if counts[verdict]]


def comparisons_of(run: RunDocument) -> list[ComparisonRow]:
    """Comparisons with the labels of their cells. Those that found a difference come first."""
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
    """The command that repeats the cell with the strongest verdict."""
    label = next(iter([*run.where, *run.not_where, *(label_of(job) for job in run.jobs)]), "")
    target = f" --target {shlex.quote(label)}" if label else ""
    return f"samehere reproduce FILE{target}"


def printed_texts(run: RunDocument) -> list[PrintedText]:
    """The texts that the first attempt of each cell printed, each text once.

    A preview is used until an attempt that counts has ended.
    """
    texts: dict[tuple[str, str], PrintedText] = {}
    for job in run.jobs:
        attempt = _first_with_output(job)
        if attempt is not None:
            key = (attempt.stdout, attempt.stderr)
            texts.setdefault(key, PrintedText(labels=[], attempt=attempt)).labels.append(label_of(job))
    return list(texts.values())


def _first_with_output(job: JobPart) -> AttemptPart | None:
    use_preview = _shows_preview(job)
    candidates = (attempt for attempt in job.attempts if attempt.counted or use_preview)
    return next((attempt for attempt in candidates if attempt.stdout or attempt.stderr), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptGroup:
    """Attempts of one cell that ended in the same way. The page has links to those in `linked`."""

    label: str
    job: str
    attempts: tuple[AttemptPart, ...]
    linked: tuple[AttemptPart, ...]

    @property
    def first(self) -> AttemptPart:
        """The attempt that stands for the others."""
        return self.attempts[0]

    @property
    def more(self) -> int:
        """The number of attempts without a link."""
        return len(self.attempts) - len(self.linked)

    @property
    def seconds(self) -> str:
        """The shortest and the longest duration: `0.91`, or `0.91 to 1.20`."""
        durations = sorted(attempt.wall_seconds for attempt in self.attempts if attempt.wall_seconds)
        shortest_and_longest = (*durations[:1], *durations[-1:])
        ends = list(dict.fromkeys(f"{seconds:.2f}" for seconds in shortest_and_longest))
        return " to ".join(ends)

    @property
    def nodes(self) -> list[str]:
        """The nodes on which they ran, each once."""
        return list(dict.fromkeys(attempt.node for attempt in self.attempts if attempt.node))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTable:
    """All attempts of a run. `rows` has the groups on the page, and `rows_all` counts all groups."""

    rows: list[AttemptGroup]
    rows_all: int
    all: int
    ended: int


def attempt_table(run: RunDocument) -> AttemptTable:
    """Every attempt, in the order of the cells. Attempts of a cell that ended in the same way are one row."""
    groups: dict[tuple[object, ...], list[AttemptPart]] = {}
    for job in run.jobs:
        for one in job.attempts:
            why = None if one.reason is None else one.reason.detail
            ended = (one.outcome, one.signal, one.exit_status, why, None if one.outcome else one.state)
            groups.setdefault((job.id, one.kind, one.counted, one.start, *ended), []).append(one)
    jobs = {job.id: job for job in run.jobs}
    rows: list[AttemptGroup] = []
    links_left = MOST_LINKS
    for key, attempts in list(groups.items())[:MOST_GROUPS]:
        linked = tuple(attempts[: max(1, min(MOST_LINKS_A_GROUP, links_left))])
        links_left -= len(linked)
        job = jobs[str(key[0])]
        rows.append(AttemptGroup(label=label_of(job), job=job.id, attempts=tuple(attempts), linked=linked))
    every = [one for attempts in groups.values() for one in attempts]
    return AttemptTable(
        rows=rows, rows_all=len(groups), all=len(every), ended=sum(one.outcome is not None for one in every)
    )


def traces_of(run: RunDocument) -> list[tuple[str, list[str]]]:
    """The sentences about the operations of each traced cell, with the label of the cell."""
    return [(label_of(job), trace_sentences(job.trace)) for job in run.jobs if job.trace is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardGroup:
    """Cards of a node with the same model and state."""

    model: str
    state: CardState
    detail: str
    count: int


def card_groups(gpus: Iterable[Gpu]) -> list[CardGroup]:
    """The cards of a node in their order. Equal cards are one group."""
    counts = Counter((gpu.model, gpu.state, gpu.detail) for gpu in gpus)
    return [
        CardGroup(model=model, state=state, detail=detail, count=count)
        for (model, state, detail), count in counts.items()
    ]


def package_list(chain: ToolchainFacts) -> list[str]:
    """The packages of a toolchain: `torch 2.13.0` first, then numpy, then the others by name."""
    versions = {**chain.packages, **({"torch": chain.torch} if chain.torch else {})}
    return [
        f"{name} {versions[name]}"
        for name in sorted(versions, key=lambda name: (name != "torch", name != "numpy", name))
    ]
