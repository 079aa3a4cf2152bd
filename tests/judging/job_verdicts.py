"""A job's verdict and reason in one call, for tests of the rules of judging."""

from __future__ import annotations

from typing import Any

from judging_builders import (
    CPU,
    claim,
    raises,
    script,
)

from app.intake.claim.claims import Check
from app.judging.judgement import JobJudgement
from app.judging.verdict.job import judge_job
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target


def judged(
    *checks: Check, results: list[Any], target: Target = CPU, plan: RepeatPlan | None = None, **of_script: Any
) -> JobJudgement:
    return judge_job(claim(*checks), script(**of_script), target, results, plan=plan)


def verdict(*checks: Check, results: list[Any], **rest: Any) -> str:
    return judged(*checks, results=results, **rest).verdict


def reason(*checks: Check, results: list[Any], **rest: Any) -> str | None:
    found = judged(*checks, results=results, **rest).reason
    return None if found is None else found.code


FAILS = raises("RuntimeError", "shape mismatch")
FAILED = {"raised": ("RuntimeError", "shape mismatch")}
