"""The run object (schema 1): `reproduce --json` prints it and `GET /api/v1/runs/{id}` answers it."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.intake.probe_output import ReportersProbe
from app.intake.reading import Ask, ClaimSource, Need, Repair
from app.judging.judgement import CheckResult, ComparisonResult, Defect, RateInterval, Scope, Verdict
from app.judging.needs.status import NeedOutcome
from app.judging.verdict.contrast import ContrastKind
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.claim_part import ClaimPart, ExhibitPart
from app.runs.run_object.digests import PlanRecord
from app.runs.run_object.maintainer_acts import Act, Overruling
from app.runs.run_object.parts.estimates import CellEstimatePart, EstimatePart, ProgressPart, WaitingPart
from app.runs.run_object.removal_part import RemovalPart
from app.states import AttemptState, JobState, RunState
from app.targets.target import label_of
from worker.contract import (
    AttemptKind,
    CapturedWarning,
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
    """An immutable part. All its fields are always present in the JSON."""

    model_config = ConfigDict(frozen=True)


class ScriptPart(Part):
    role: str
    as_given: str
    script: str
    repairs: list[Repair] = Field(default_factory=list)
    digest: str
    needs: list[Need] = Field(default_factory=list)


class ModelPart(Part):
    """A model that read the report, too: its name, and the version of its instructions.

    `changed` says whether the claim is another one with it. `dropped` are the parts of its answer that do not
    stand in the report.
    """

    name: str
    prompt: int
    changed: bool
    answer: str | None = Field(default=None, exclude_if=lambda answer: answer is None)
    dropped: list[str] = Field(default_factory=list)


class ReportPart(Part):
    id: str | None = None
    title: str = ""
    source_url: str | None = None
    scripts: list[ScriptPart] = Field(default_factory=list)
    claim: ClaimPart = Field(default_factory=ClaimPart)
    # `corrected`: by the submitter or a maintainer; `typed`: sent as data; `rules`: read from words.
    claim_source: ClaimSource = ClaimSource.RULES
    # The evidence in the text. The run object leaves it out: the report has it.
    exhibits: list[ExhibitPart] | None = Field(default=None, exclude_if=lambda exhibits: exhibits is None)
    environment: Environment = Field(default_factory=dict)
    # Fields that the submitter corrected, as they were read; and needs that they say are none. Only if any.
    environment_as_read: Environment = Field(default_factory=dict, exclude_if=lambda fields: not fields)
    ignored_needs: list[Need] = Field(default_factory=list, exclude_if=lambda needs: not needs)
    # A model's answer about the report, if one was asked. The run object has no text of it.
    model: ModelPart | None = Field(default=None, exclude_if=lambda model: model is None)
    # The output of `probe.py` in the reporter's Python. Unverified, and no evidence of ours.
    probe: ReportersProbe | None = None


class TargetPart(Part):
    """A requested target. `capability` is present only if a kind of card was requested."""

    device: str
    gpus: int
    capability: str | None = Field(default=None, exclude_if=lambda capability: capability is None)
    toolchain: str
    settings: dict[str, str]

    @cached_property
    def label(self) -> str:
        """The label of the target. Cached, since a page of many cells shows it many times."""
        return label_of(self)


class FindingPart(Part):
    text: str
    result: CheckResult
    observed: str = ""
    # The captured value that is nearest to a number of the check, with all its digits.
    exact: str = ""
    # The oracle that says that the bug is gone, such as `expected_value`; None if none spoke.
    oracle: str | None = None


class ValuePart(Part):
    """A captured value without its bytes. `value` shows its first elements, if they are known."""

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
    # The stacks of all processes at the time limit, cut as the streams are.
    stacks: str = ""
    # The first captured values. The object of the attempt has all of them, with their bytes.
    values: list[ValuePart] = Field(default_factory=list)
    # The first warnings that were shown. Null if they were not noted.
    warnings: list[CapturedWarning] | None = None
    environment: str | None = None


class FacetPart(Part):
    """The verdict on one of several claims of a report: of a cell, or of a run with where it was seen."""

    name: str
    verdict: Verdict
    reason: Reason | None = None
    matched: int = 0
    of: int = 0
    where: list[str] = Field(default_factory=list)


class JobPart(Part):
    id: str
    script: str
    target: TargetPart
    state: JobState
    # True for a cell that was added after the run has ended, to look for a contrast. It decides nothing else.
    is_contrast: bool = False
    verdict: Verdict | None = None
    reason: Reason | None = None
    matched: int = 0
    of: int = 0
    rate_upper_bound: float | None = None
    rate_interval: RateInterval | None = None
    checks: list[FindingPart] = Field(default_factory=list)
    # Empty if the report makes one claim.
    facets: list[FacetPart] = Field(default_factory=list)
    # The names of captured values that differ between the repeats.
    varying_values: list[str] = Field(default_factory=list)
    # With the setting `trace`: the trace of the first counted attempt that has one.
    trace: Trace | None = None
    # Present only while the job is open.
    progress: ProgressPart | None = Field(default=None, exclude_if=lambda progress: progress is None)
    # `waiting` is set while the job waits, `estimate` in a plan.
    waiting: WaitingPart | None = None
    estimate: CellEstimatePart | None = None
    attempts: list[AttemptPart] = Field(default_factory=list)


class DifferencePart(Part):
    """One difference, with both sides cut short. `note` says how far they are apart.

    `about` is `outcome`, `exit_status`, `signal`, `exception`, `stdout`, `value: x`, `flag: tf32`, `stderr`
    or `environment: blas.path`.
    """

    about: str
    baseline: str
    candidate: str
    note: str = ""


class ComparisonPart(Part):
    """A comparison of two attempts. `id` is `{baseline}-{candidate}`.

    `first_difference` has `about`, both sides and, for a printed line, the line numbers.
    """

    id: str
    baseline: str
    candidate: str
    result: ComparisonResult
    cause: str = "not_analysed"
    differences: list[DifferencePart] = Field(default_factory=list)
    first_difference: dict[str, Any] = Field(default_factory=dict)


class SignerPart(Part):
    """The holder of a registered key, who signed the bundle of a run and so vouches for it."""

    name: str
    # The SHA-256 of the public key, in hexadecimal.
    key: str


class ContributedPart(Part):
    """Set for a contributed run: by whom, and the nodes' public names and the time as its bundle says."""

    by: str
    # Null if its bundle was not signed: then nobody vouches for it.
    signed_by: SignerPart | None = None
    nodes: list[str] = Field(default_factory=list)
    samehere: str = ""
    ran_at: datetime | None = None


class QuarantinedPart(Part):
    """Something in quarantine that an open run needs."""

    kind: str
    name: str
    reason: str


class OutdatedPart(Part):
    """Set if the verdict was made by older rules, with the one by the present rules.

    `samehere judge-again` applies them.
    """

    rules: int | None
    present_rules: int
    verdict: Verdict | None


class ContrastPart(Part):
    """A place of the run where the claimed check is not met: a target, or the control of the report.

    With the kind `none` there is none, so what happens may have another cause than the report's.
    """

    kind: ContrastKind
    target: str | None = None
    # The target of the cell that was added to look for one, and whether its attempts go on.
    added: str | None = None
    is_open: bool = False


class FixedPart(PlanRecord):
    """The record from before the first attempt, and whether the run is still judged by that claim."""

    claim_is_the_same: bool = Field(
        description="false if the claim was corrected since: `earlier_claims` of the report says by whom"
    )


class RunDocument(Part):
    schema_version: Literal[1] = Field(default=1, serialization_alias="schema", validation_alias="schema")
    id: str
    state: RunState
    verdict: Verdict | None = None
    so_far: Verdict | None = None
    seen: bool = False
    defect: Defect = Defect.UNDECIDED
    cause: str | None = None
    # The source of variation that the cause is about, such as `numpy.random.default_rng`; empty without one.
    cause_source: str = ""
    # The label of the target whose setting showed the cause; empty if no cell of its own did.
    cause_test: str = ""
    # The removal in a newer version, for the causes `announced` and `api_removed`.
    removal: RemovalPart | None = None
    # Sentences that say why it is not decided whether it is a defect. Empty if it is decided.
    missing: list[str] = Field(default_factory=list)
    summary: str = ""
    # The verdict in four sentences: what, where, how sure, and whose it is.
    answer: AnswerPart = Field(default_factory=AnswerPart)
    scope: Scope | None = None
    scope_differs: list[str] = Field(default_factory=list)
    where: list[str] = Field(default_factory=list)
    not_where: list[str] = Field(default_factory=list)
    chance_where: list[str] = Field(
        default_factory=list,
        description="those of `not_where` where chance may explain that it was not seen: the script varies,"
        " and the attempts are too few to tell",
    )
    contrast: ContrastPart | None = None  # for `reproduced`, as the verdict or so far
    facets: list[FacetPart] = Field(default_factory=list)  # of a report that makes several claims
    needs: list[NeedOutcome] = Field(default_factory=list)
    newest: str | None = None
    without_result: int = 0
    ask: list[Ask] = Field(default_factory=list)
    preset: str | None = None
    # Null for contributed runs, bisections and runs that are older than this field.
    fixed: FixedPart | None = None
    # Null for a run of our own nodes. A contributed run decides nothing about its report.
    contributed: ContributedPart | None = None
    # The verdict of a maintainer, if there is one. `verdict` stays the measured one.
    overruled: Overruling | None = None
    # Acts of maintainers, newest first.
    acts: list[Act] = Field(default_factory=list)
    # Quarantined things that cells of an open run need.
    held_back: list[QuarantinedPart] = Field(default_factory=list)
    # The version of the rules that made the verdict. If it is not the present one, `outdated` is set.
    rules: int | None = None
    outdated: OutdatedPart | None = None
    # Set if the report was withdrawn. The run object is then erased (`app.runs.run_object.erase`).
    withdrawn_at: datetime | None = None
    report: ReportPart = Field(default_factory=ReportPart)
    jobs: list[JobPart] = Field(default_factory=list)
    comparisons: list[ComparisonPart] = Field(default_factory=list)
    environments: dict[str, Environment] = Field(default_factory=dict)
    # Set in a plan (`dry_run`) only.
    estimate: EstimatePart | None = None
    created_at: datetime
    finished_at: datetime | None = None
