"""The values of a judgement: results of checks, verdicts of jobs and runs, and results of comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from app.intake.reading import ScriptRole
from app.targets.target import Target
from worker.contract import Reason, Result


class Verdict(StrEnum):
    """The verdict of a job or a run. A run gets the first of these that any of its jobs has."""

    NEEDS_INFO = "needs_info"
    REPRODUCED = "reproduced"
    FLAKY = "flaky"
    DIFFERENT = "different"
    NOT_REPRODUCED = "not_reproduced"
    CANNOT_SHOW = "cannot_show"
    OBSERVED = "observed"
    NO_RESULT = "no_result"


# The claimed behaviour was seen.
SIGHTINGS: Final = frozenset({Verdict.REPRODUCED, Verdict.FLAKY})
# The claimed behaviour was seen, or another wrong one. More attempts can't undo that.
DEVIATIONS: Final = SIGHTINGS | {Verdict.DIFFERENT}
# The verdict says nothing for or against the claim.
INCONCLUSIVE: Final = frozenset(
    {Verdict.NEEDS_INFO, Verdict.CANNOT_SHOW, Verdict.OBSERVED, Verdict.NO_RESULT}
)


class DifferentKind(StrEnum):
    """How the observed behaviour differs from the claimed one."""

    CLEAN_ERROR = "clean_error"
    OTHER_FAILURE = "other_failure"
    NEAR_VALUE = "near_value"
    OTHER_VALUE = "other_value"


class CheckResult(StrEnum):
    """The result of a check in an attempt, over repeats or over a pair of targets."""

    MET = "met"
    ABSENT = "absent"
    OTHER = "other"
    UNREACHED = "unreached"


class Defect(StrEnum):
    """Whether the observed behaviour is a defect."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class Scope(StrEnum):
    """Whether a `not_reproduced` is about the reporter's environment or another one."""

    AS_REPORTED = "as_reported"
    ELSEWHERE = "elsewhere"


class ComparisonResult(StrEnum):
    """The result of a comparison of two attempts."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


class Finding(BaseModel):
    """A check with its result. `observed` is the output or failure in its place, cut short: hostile text."""

    model_config = ConfigDict(frozen=True)

    text: str
    result: CheckResult
    observed: str = ""
    reason: Reason | None = None
    # The oracle that says that the bug is gone; None if the bug is only not there.
    oracle: str | None = None


class RateInterval(BaseModel):
    """Confidence interval for the true rate, from independent attempts on one machine.

    It holds whenever the attempts end, also if their results decide when.
    """

    model_config = ConfigDict(frozen=True)

    low: float
    high: float
    level: float = 0.95
    method: str = "confidence-sequence"


class StoppingRule(BaseModel):
    """When a job has enough attempts. The rule and its error are fixed before the first one, not the number.

    Each rate is that of a behaviour that a verdict may miss, in a share of `error` of all jobs at most.
    """

    model_config = ConfigDict(frozen=True)

    error: float = 0.05
    # "Always", and "never" beside another behaviour. A plain "never" takes the number of the plan.
    always: float = 0.64
    # The same and "never", where chance decides.
    always_by_chance: float = 0.26
    never_by_chance: float = 0.14
    # "Never" for a claim that it happens sometimes.
    never_sometimes: float = 0.05
    # The width at which the interval of a rate is narrow enough.
    rate_width: float = 0.55


class FacetJudgement(BaseModel):
    """The verdict of a job about one of several claims of its report."""

    model_config = ConfigDict(frozen=True)

    name: str
    verdict: Verdict
    reason: Reason | None = None
    matched: int = 0
    of: int = 0


class JobJudgement(BaseModel):
    """A job's verdict and its evidence: `matched` of `of` counted attempts that reached the point."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reason: Reason | None = None
    matched: int = 0
    of: int = 0
    rate_upper_bound: float | None = None
    # For the cold attempts only. None if the claim is not about single attempts.
    rate_interval: RateInterval | None = None
    findings: tuple[Finding, ...] = ()
    # Empty if the report makes one claim.
    facets: tuple[FacetJudgement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCell:
    """One script on one target, with its judgement (None until it is judged) and its counted results."""

    job_id: str
    script: str
    target: Target
    judgement: JobJudgement | None
    results: tuple[Result, ...] = ()
    role: ScriptRole = ScriptRole.MAIN
    # Added after the run has ended, to look for a contrast. It decides nothing else.
    is_contrast: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the job; None until it is judged."""
        return None if self.judgement is None else self.judgement.verdict
