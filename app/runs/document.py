"""The run object of the contract (schema 1): what `reproduce --json` prints and `GET /api/v1/runs/{id}` answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.intake.probed import ReportersProbe
from app.intake.reading import Ask, Need, Repair
from app.judging.judgement import CheckResult, ComparisonResult, Defect, RateInterval, Scope, Verdict
from app.states import AttemptState, JobState, RunState
from worker.contract import AttemptKind, Environment, ExceptionFacts, Level, Outcome, Reason, Start, ValueStatistics


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
    device: str
    gpus: int
    toolchain: str
    settings: dict[str, str]


class FindingPart(Part):
    text: str
    result: CheckResult
    observed: str = ""
    # The captured value that is nearest to a number of the check, in full.
    exact: str = ""


class ValuePart(Part):
    """A captured value without its bytes; `value` is how its first elements are written, where they are known."""

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
    attempts: list[AttemptPart] = Field(default_factory=list)


class DifferencePart(Part):
    """One difference: what it is about, and both sides, cut short. `note` says how far they are apart.

    About `outcome`, `exit_status`, `signal`, `exception`, `stdout`, `value: x`, `flag: tf32`, `stderr`, `environment: blas.path`.
    """

    about: str
    baseline: str
    candidate: str
    note: str = ""


class ComparisonPart(Part):
    """Two attempts. `id` is `{baseline}-{candidate}`; `first_difference` has `about`, both sides and, for a printed line, its numbers."""

    id: str
    baseline: str
    candidate: str
    result: ComparisonResult
    cause: str = "not_analysed"
    differences: list[DifferencePart] = Field(default_factory=list)
    first_difference: dict[str, Any] = Field(default_factory=dict)


class ContributedPart(Part):
    """That a run was not ours: who brought it, the public names of the nodes it ran on, and when, as its bundle says."""

    by: str
    nodes: list[str] = Field(default_factory=list)
    samehere: str = ""
    ran_at: datetime | None = None


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
    report: ReportPart = Field(default_factory=ReportPart)
    jobs: list[JobPart] = Field(default_factory=list)
    comparisons: list[ComparisonPart] = Field(default_factory=list)
    environments: dict[str, Environment] = Field(default_factory=dict)
    created_at: datetime
    finished_at: datetime | None = None
