"""A report of several claims has a verdict for each. A live one makes `reproduced`."""

from __future__ import annotations

import pytest
from judging_builders import CPU, CUDA, claim, prints, raises, script, several

from app.intake.claim.claims import Check, Claim, Role, Where
from app.intake.reading import Reading
from app.judging.judgement import JobJudgement, JudgedCell, Verdict
from app.judging.verdict.attempts_needed import needed_attempts
from app.judging.verdict.facets import facets_of
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import RunJudgement, judge_run
from app.judging.verdict.sighting import sighting
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Outcome, Result


def of_facet(check: Check, facet: str, **limits: str) -> Check:
    return check.model_copy(update={"facet": facet, "where": Where(**limits)})


def expected(text: str, facet: str | None) -> Check:
    return prints(text).model_copy(update={"role": Role.EXPECTED, "facet": facet})


LOSS = of_facet(prints("loss 0.5"), "loss")
GRADIENT = of_facet(prints("gradient 7"), "gradient")
BOTH = claim(LOSS, GRADIENT, expected("loss 0.9", "loss"), expected("gradient 8", "gradient"))
ON_CUDA = claim(LOSS, expected("loss 0.9", "loss"), of_facet(prints("gradient 7"), "gradient", device="cuda"))


def judged(told: Claim, stdout: str, target: Target = CPU) -> JobJudgement:
    return judge_job(told, script(), target, several(3, stdout))


def verdicts(judgement: JobJudgement) -> dict[str, Verdict]:
    return {facet.name: facet.verdict for facet in judgement.facets}


@pytest.mark.parametrize(
    ("told", "stdout", "loss", "gradient", "verdict"),
    [
        (BOTH, "loss 0.5\ngradient 7\n", "reproduced", "reproduced", "reproduced"),
        # One is mended, the other is alive.
        (BOTH, "loss 0.9\ngradient 7\n", "not_reproduced", "reproduced", "reproduced"),
        (BOTH, "loss 0.9\ngradient 8\n", "not_reproduced", "not_reproduced", "not_reproduced"),
        (BOTH, "loss 0.9\ngradient 3\n", "not_reproduced", "different", "different"),
        # The other could not be tried here.
        (ON_CUDA, "loss 0.9\ngradient 8\n", "not_reproduced", "cannot_show", "cannot_show"),
        (ON_CUDA, "loss 0.5\ngradient 8\n", "reproduced", "cannot_show", "reproduced"),
    ],
)
def test_each_claim_has_a_verdict(told: Claim, stdout: str, loss: str, gradient: str, verdict: str) -> None:
    judgement = judged(told, stdout)
    assert verdicts(judgement) == {"loss": loss, "gradient": gradient}
    assert judgement.verdict == verdict


def test_without_facets_all_bugs_must_be_met() -> None:
    plain = claim(prints("loss 0.5"), prints("gradient 7"))
    judgement = judged(plain, "loss 0.5\ngradient 8\n")
    assert (judgement.verdict, judgement.facets) == (Verdict.DIFFERENT, ())
    # One facet is one claim.
    assert facets_of(claim(LOSS, prints("gradient 7"))) == {}


def test_a_check_without_a_facet_is_part_of_each() -> None:
    shared = raises("RuntimeError", "shape mismatch")
    claims = facets_of(claim(LOSS, GRADIENT, shared))
    assert [len(each.checks) for each in claims.values()] == [2, 2]


def cell(target: Target, stdout: str) -> JudgedCell:
    results: list[Result] = several(3, stdout)
    judgement = judge_job(ON_CUDA, script(), target, results)
    return JudgedCell(
        job_id=target.label(),
        script=script().digest,
        target=target,
        judgement=judgement,
        results=tuple(results),
    )


def run(*cells: JudgedCell) -> RunJudgement:
    return judge_run(Reading(scripts=(script(),), claim=ON_CUDA), cells)


def test_in_a_run_a_claim_that_was_tried_somewhere_is_decided() -> None:
    alone = run(cell(CPU, "loss 0.9\ngradient 8\n"))
    assert alone.verdict is Verdict.CANNOT_SHOW
    assert {facet.name: facet.verdict for facet in alone.facets} == {
        "loss": Verdict.NOT_REPRODUCED,
        "gradient": Verdict.CANNOT_SHOW,
    }
    live = run(cell(CPU, "loss 0.5\ngradient 8\n"))
    assert (live.verdict, live.facets[0].where) == (Verdict.REPRODUCED, (CPU.label(),))


def test_the_job_runs_until_every_claim_is_decided() -> None:
    one = several(1, "loss 0.9\ngradient 7\n")
    assert needed_attempts(BOTH, script(), CPU, one, RepeatPlan(5)).attempts == 4
    assert needed_attempts(BOTH, script(), CUDA, several(5, "loss 0.9\n"), RepeatPlan(5)).attempts == 0


def test_a_bisection_looks_for_any_of_them() -> None:
    results = several(1, "loss 0.9\ngradient 7\n", outcome=Outcome.COMPLETED)
    assert sighting(BOTH, script(), CPU, results).seen is True
