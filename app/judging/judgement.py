"""The words of a judgement: what became of a check, a job, a run and a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from app.intake.reading import ScriptRole
from app.targets.target import Target
from worker.contract import Reason, Result


class Verdict(StrEnum):
    """What is concluded of a job or a run; in the order in which a run's is chosen among its jobs'."""

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
    """How what was seen differs from what was claimed."""

    CLEAN_ERROR = "clean_error"
    OTHER_FAILURE = "other_failure"
    NEAR_VALUE = "near_value"
    OTHER_VALUE = "other_value"


class CheckResult(StrEnum):
    """What became of a check in an attempt, or over repeats, or over a pair."""

    MET = "met"
    ABSENT = "absent"
    OTHER = "other"
    UNREACHED = "unreached"


class Defect(StrEnum):
    """Whether what was seen is a defect."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class Scope(StrEnum):
    """How far a `not_reproduced` goes."""

    AS_REPORTED = "as_reported"
    ELSEWHERE = "elsewhere"


class ComparisonResult(StrEnum):
    """What a comparison of two attempts says."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


class Finding(BaseModel):
    """A check with what became of it. `observed` is what was seen in its place, cut short; hostile text."""

    model_config = ConfigDict(frozen=True)

    text: str
    result: CheckResult
    observed: str = ""
    reason: Reason | None = None


class RateInterval(BaseModel):
    """Between which rates the true one lies, as far as independent attempts on one machine tell."""

    model_config = ConfigDict(frozen=True)

    low: float
    high: float
    level: float = 0.95
    method: str = "clopper-pearson"


class JobJudgement(BaseModel):
    """A job's verdict and what it rests on: `matched` of `of` counted attempts that reached the point."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reason: Reason | None = None
    matched: int = 0
    of: int = 0
    rate_upper_bound: float | None = None
    # Of the cold attempts among them; None where the claim is not about single attempts.
    rate_interval: RateInterval | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCell:
    """One script on one target, with its judgement (None until it is judged) and the results of its counted attempts."""

    job_id: str
    script: str
    target: Target
    judgement: JobJudgement | None
    results: tuple[Result, ...] = ()
    role: ScriptRole = ScriptRole.MAIN

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the job; None until it is judged."""
        return None if self.judgement is None else self.judgement.verdict
