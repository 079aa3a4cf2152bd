"""The run object of the contract (schema 1): what `reproduce --json` prints and `GET /api/v1/runs/{id}`
answers.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.intake.probe_output import ReportersProbe
from app.intake.reading import Ask, Need, Repair
from app.judging.judgement import CheckResult, ComparisonResult, Defect, RateInterval, Scope, Verdict
from app.runs.run_object.maintainer_acts import Act, Overruling
from app.states import AttemptState, JobState, RunState
from app.targets.target import label_of
from worker.contract import (
    AttemptKind,
    Environment,
    ExceptionFacts,
    Level,
    Outcome,
    Reason,
    Start,
    ValueStatistics,
)
from worker.contract.trace import Trace


class Part(BaseModel):
    """Immutable; every field is always present in the JSON."""

    model_config = ConfigDict(frozen=True)


class ScriptPart(Part):
    role: str
    as_given: str
    script: str
    repairs: list[Repair] = Field(default_factory=list)
    digest: str
    needs: list[Need] = Field(default_factory=list)


class CheckPart(Part):
    text: str
    kind: str
    role: str
    where: dict[str, str]
    over: str


class ClaimPart(Part):
    checks: list[CheckPart] = Field(default_factory=list)


class ReportPart(Part):
    id: str | None = None
    title: str = ""
    source_url: str | None = None
    scripts: list[ScriptPart] = Field(default_factory=list)
    claim: ClaimPart = Field(default_factory=ClaimPart)
    environment: Environment = Field(default_factory=dict)
    # What `probe.py` saw in the reporter's own Python; the reporter's word, no evidence of ours.
    probe: ReportersProbe | None = None


class TargetPart(Part):
    """A target as asked for. `capability` is there only where a kind of card was named."""

    device: str
    gpus: int
    capability: str | None = Field(default=None, exclude_if=lambda capability: capability is None)
    toolchain: str
    settings: dict[str, str]

    @cached_property
    def label(self) -> str:
        """The target as the command line writes it; a page of many cells says it many times."""
        return label_of(self)


class RangePart(Part):
    """An estimate: between these two, and about that. `at_most` is null where nobody can say."""

    at_least: float
    about: float
    at_most: float | None


Basis = Literal["measured", "script", "recent", "guess"]


class CellEstimatePart(Part):
    """What one cell would take: how many attempts, and the seconds of one.

    `basis` says what the seconds rest on: attempts of this script on this target (`measured`) or on another
    (`script`), what ran here lately (`recent`), or nothing (`guess`).
    """

    attempts_at_least: int
    attempts_at_most: int
    seconds: RangePart
    basis: Basis


class LeftOutPart(Part):
    """How many cells an exclude left out."""

    exclude: str
    cells: int


class EstimatePart(Part):
    """What a run would take.

    `machine_seconds` is of all attempts together; `starts_in` and `done_in` count what waits and runs
    already.
    """

    cells: int
    not_served: int
    attempts_at_least: int
    attempts_at_most: int
    machine_seconds: RangePart
    starts_in: RangePart | None = None
    done_in: RangePart | None = None
    basis: Basis = "guess"
    left_out: list[LeftOutPart] = Field(default_factory=list)


class WaitingPart(Part):
    """A waiting cell's place in line: its number among the cells that wait for the same machines, and when it
    would start, in seconds.

    `starts_in` is null while no node that is there serves it. With `of_at_least` the line is longer than was
    looked at.
    """

    position: int
    of: int
    of_at_least: bool = False
    starts_in: RangePart | None = None


class FindingPart(Part):
    text: str
    result: CheckResult
    observed: str = ""
    # The captured value that is nearest to a number of the check, in full.
    exact: str = ""


class ValuePart(Part):
    """A captured value without its bytes; `value` is how its first elements are written, where they are
    known.
    """

    name: str
    origin: str
    kind: str
    dtype: str
    shape: list[int]
    device: str
    digest: str
    value: str
    statistics: ValueStatistics | None = None


class AttemptPart(Part):
    id: str
    kind: AttemptKind
    start: Start
    state: AttemptState
    counted: bool = True
    node: str | None = None
    level: Level | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    exit_status: int | None = None
    signal: str | None = None
    exception: ExceptionFacts | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    devices_used: list[str] = Field(default_factory=list)
    flags_changed: dict[str, Any] = Field(default_factory=dict)
    wall_seconds: float | None = None
    peak_memory_bytes: int | None = None
    # At the wall limit: where all processes stood, cut as the streams are.
    stacks: str = ""
    # The first captured values; the attempt by itself has all of them, with their bytes.
    values: list[ValuePart] = Field(default_factory=list)
    environment: str | None = None


class JobPart(Part):
    id: str
    script: str
    target: TargetPart
    state: JobState
    verdict: Verdict | None = None
    reason: Reason | None = None
    matched: int = 0
    of: int = 0
    rate_upper_bound: float | None = None
    rate_interval: RateInterval | None = None
    checks: list[FindingPart] = Field(default_factory=list)
    # The names of captured values that are not the same in all repeats.
    varying_values: list[str] = Field(default_factory=list)
    # Where the target asks for it: how the numbers of the first counted attempt came about.
    trace: Trace | None = None
    # While it waits: its place in line. In a plan: what it would take.
    waiting: WaitingPart | None = None
    estimate: CellEstimatePart | None = None
    attempts: list[AttemptPart] = Field(default_factory=list)


class DifferencePart(Part):
    """One difference: what it is about, and both sides, cut short. `note` says how far they are apart.

    About `outcome`, `exit_status`, `signal`, `exception`, `stdout`, `value: x`, `flag: tf32`, `stderr`,
    `environment: blas.path`.
    """

    about: str
    baseline: str
    candidate: str
    note: str = ""


class ComparisonPart(Part):
    """Two attempts.

    `id` is `{baseline}-{candidate}`; `first_difference` has `about`, both sides and, for a printed line, its
    numbers.
    """

    id: str
    baseline: str
    candidate: str
    result: ComparisonResult
    cause: str = "not_analysed"
    differences: list[DifferencePart] = Field(default_factory=list)
    first_difference: dict[str, Any] = Field(default_factory=dict)


class ContributedPart(Part):
    """That a run was not ours: who brought it, the public names of the nodes it ran on, and when, as its
    bundle says.
    """

    by: str
    nodes: list[str] = Field(default_factory=list)
    samehere: str = ""
    ran_at: datetime | None = None


class HeldPart(Part):
    """Something in quarantine that an open run needs."""

    kind: str
    name: str
    reason: str


class OutdatedPart(Part):
    """That a kept verdict was reached by older rules, and what the present ones would say; `samehere
    judge-again` applies them.
    """

    rules: int | None
    present_rules: int
    verdict: Verdict | None


class RunDocument(Part):
    schema_version: Literal[1] = Field(default=1, serialization_alias="schema", validation_alias="schema")
    id: str
    state: RunState
    verdict: Verdict | None = None
    so_far: Verdict | None = None
    seen: bool = False
    defect: Defect = Defect.UNDECIDED
    cause: str | None = None
    summary: str = ""
    scope: Scope | None = None
    scope_differs: list[str] = Field(default_factory=list)
    where: list[str] = Field(default_factory=list)
    not_where: list[str] = Field(default_factory=list)
    newest: str | None = None
    without_result: int = 0
    ask: list[Ask] = Field(default_factory=list)
    preset: str | None = None
    # Null for a run of our own nodes. A contributed one decides nothing of its report.
    contributed: ContributedPart | None = None
    # A maintainer's word, if there is one; `verdict` stays what was measured.
    overruled: Overruling | None = None
    # Of maintainers, newest first.
    acts: list[Act] = Field(default_factory=list)
    # What keeps cells of an open run from going on.
    held_back: list[HeldPart] = Field(default_factory=list)
    # By which rules the verdict was reached; where those of today differ, `outdated` has what they would say.
    rules: int | None = None
    outdated: OutdatedPart | None = None
    # From then on there is only what erasing leaves.
    withdrawn_at: datetime | None = None
    report: ReportPart = Field(default_factory=ReportPart)
    jobs: list[JobPart] = Field(default_factory=list)
    comparisons: list[ComparisonPart] = Field(default_factory=list)
    environments: dict[str, Environment] = Field(default_factory=dict)
    # Of a plan (`dry_run`) only.
    estimate: EstimatePart | None = None
    created_at: datetime
    finished_at: datetime | None = None
