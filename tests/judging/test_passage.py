"""A failure is gone only if its statement was seen to be passed."""

from __future__ import annotations

import pytest
from judging_builders import CPU, claim, raises, result, script, several

from app.intake.claim.claims import Claim
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import needed_attempts, needs_passage
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import lost_passage
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, Outcome, PassedPoint, Result

PLAN = RepeatPlan(3)
SCRIPT = script("x = 'x'\nint(x)\n")
ANCHORED = claim(raises("ValueError", "no number").model_copy(update={"at": 2}))


def passage(state: str | None = None, **fields: object) -> Result:
    """A passage check that ended well, with this state of its only point; None: nothing was reported."""
    points = None if state is None else [PassedPoint(line=2, state=state)]  # type: ignore[arg-type]
    return result(kind=AttemptKind.PASSAGE, attempt="z", passage=points, **fields)  # type: ignore[arg-type]


def judged(*passages: Result, told: Claim = ANCHORED, of: object = SCRIPT) -> tuple[Verdict, str | None]:
    judgement = judge_job(told, of, CPU, [*several(3), *passages], plan=PLAN)  # type: ignore[arg-type]
    return judgement.verdict, None if judgement.reason is None else judgement.reason.code


@pytest.mark.parametrize(
    ("check", "verdict", "reason"),
    [
        (passage("passed"), Verdict.NOT_REPRODUCED, "point_passed"),
        (passage("not_reached"), Verdict.CANNOT_SHOW, "point_not_seen"),
        (passage("unknown"), Verdict.CANNOT_SHOW, "point_not_seen"),
        (passage(None), Verdict.CANNOT_SHOW, "point_not_seen"),
        (passage("raised"), Verdict.DIFFERENT, "other_failure"),
        (passage("passed", status=3), Verdict.DIFFERENT, "other_failure"),
        (passage("raised", raised=("ValueError", "no number")), Verdict.FLAKY, None),
        (passage("passed", outcome=Outcome.TIMED_OUT), Verdict.CANNOT_SHOW, "point_not_seen"),
        (passage(None, outcome=Outcome.SETUP_FAILED), Verdict.CANNOT_SHOW, "point_not_seen"),
        (lost_passage("z"), Verdict.CANNOT_SHOW, "point_not_seen"),
    ],
)
def test_the_passage_check_decides_a_no(check: Result, verdict: Verdict, reason: str | None) -> None:
    assert judged(check) == (verdict, reason)


def test_a_no_without_a_known_anchor_stays() -> None:
    assert judged(told=claim(raises("ValueError", "no number"))) == (Verdict.NOT_REPRODUCED, None)


def test_a_claim_that_an_observer_would_change_is_not_cleared() -> None:
    recursion = claim(raises("RecursionError").model_copy(update={"at": 2}))
    assert judged(told=recursion) == (Verdict.CANNOT_SHOW, "point_not_seen")
    tracer = script("import sys\nint(sys.settrace(None) or 1)\n")
    assert judged(of=tracer) == (Verdict.CANNOT_SHOW, "point_not_seen")


def test_it_is_asked_for_once_when_everything_else_is_decided() -> None:
    def passage_needed(*results: Result, told: Claim = ANCHORED) -> bool:
        return needed_attempts(told, SCRIPT, CPU, results, PLAN).passage

    assert [passage_needed(*several(number)) for number in (0, 1, 2, 3)] == [False, False, False, True]
    assert not passage_needed(*several(3), passage("not_reached"))
    assert not passage_needed(*several(3), told=claim(raises("ValueError", "no number")))
    assert not passage_needed(*several(3, raised=("ValueError", "no number")))
    test_cell = CPU.model_copy(update={"settings": {"fill": "nan"}})
    assert not needs_passage(ANCHORED, SCRIPT, test_cell, several(3), PLAN)


def test_it_does_not_count() -> None:
    judgement = judge_job(ANCHORED, SCRIPT, CPU, [*several(3), passage("passed")], plan=PLAN)
    assert (judgement.matched, judgement.of) == (0, 3)
