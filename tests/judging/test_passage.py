"""A failure is gone only if its statement was seen to be passed."""

from __future__ import annotations

import ast

import pytest
from judging_builders import CPU, claim, raises, result, script, several
from judging_builders import check as check_of

from app.intake.claim.claims import CheckKind, Claim
from app.intake.code.points import points_on
from app.intake.code.printed_after import shows_passage
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import MIXED, MissingAttempts, needed_attempts, needs_passage
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import lost_passage
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, Outcome, PassedPoint, Result

PLAN = RepeatPlan(3)
SCRIPT = script("x = 'x'\nint(x)\n")
ANCHORED = claim(raises("ValueError", "no number").model_copy(update={"at": 2}))


def passage(state: str | None = None, *, line: int = 2, attempt: str = "z", **fields: object) -> Result:
    """A passage check that ended well, with this state of its only point; None: nothing was reported."""
    points = None if state is None else [PassedPoint(line=line, state=state)]  # type: ignore[arg-type]
    return result(kind=AttemptKind.PASSAGE, attempt=attempt, passage=points, **fields)  # type: ignore[arg-type]


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
        (passage("passed", status=3), Verdict.CANNOT_SHOW, "point_not_seen"),
        (passage("raised", raised=("ValueError", "no number")), Verdict.OBSERVED, "met_when_observed"),
        (passage("passed", line=1), Verdict.CANNOT_SHOW, "point_not_seen"),
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


@pytest.mark.parametrize(
    "check", [passage("raised", raised=("ValueError", "no number")), passage("passed", status=3)]
)
def test_a_passage_check_that_ends_otherwise_asks_for_more_repeats(check: Result) -> None:
    needed = needed_attempts(ANCHORED, SCRIPT, CPU, [*several(3), check], PLAN)
    assert (needed.attempts, needed.passage) == (MIXED - 3, False)
    met = result(raised=("ValueError", "no number"), attempt="b")
    assert judge_job(ANCHORED, SCRIPT, CPU, [*several(3), met, check]).verdict is Verdict.FLAKY


def test_a_passage_check_that_says_nothing_asks_for_no_repeats() -> None:
    needed = needed_attempts(ANCHORED, SCRIPT, CPU, [*several(3), passage("not_reached")], PLAN)
    assert needed == MissingAttempts(most=3)


@pytest.mark.parametrize(
    "check",
    [
        lost_passage("x"),
        passage(None, attempt="x", outcome=Outcome.TIMED_OUT),
        passage(None, attempt="x", outcome=Outcome.SETUP_FAILED),
        passage(None, attempt="x", outcome=Outcome.OUT_OF_MEMORY),
    ],
    ids=lambda check: check.outcome,
)
def test_a_passage_check_that_the_machine_may_have_ended_is_made_once_more(check: Result) -> None:
    def needed(*checks: Result) -> MissingAttempts:
        return needed_attempts(ANCHORED, SCRIPT, CPU, [*several(3), *checks], PLAN)

    assert needed(check) == MissingAttempts(passage=True, most=3)
    assert needed(check, check.model_copy(update={"attempt_id": "z"})) == MissingAttempts(most=3)
    assert needed(check, passage("passed")) == MissingAttempts(most=3)
    # The second one decides.
    assert judged(check, passage("passed")) == (Verdict.NOT_REPRODUCED, "point_passed")
    assert judged(check, passage("raised")) == (Verdict.DIFFERENT, "other_failure")


def test_a_passage_check_that_ends_as_the_script_does_is_not_made_again() -> None:
    check = passage("passed", outcome=Outcome.TIMED_OUT)
    counted = several(3, outcome=Outcome.TIMED_OUT)
    assert not needed_attempts(ANCHORED, SCRIPT, CPU, [*counted, check], PLAN).passage
    # A hang that only the check shows is evidence for the claim.
    hangs = claim(check_of(CheckKind.HANG).model_copy(update={"at": 2}))
    assert needed_attempts(hangs, SCRIPT, CPU, several(3), PLAN).passage
    idle = passage("passed", outcome=Outcome.TIMED_OUT, idle=True)
    assert not needed_attempts(hangs, SCRIPT, CPU, [*several(3), idle], PLAN).passage


@pytest.mark.parametrize(
    ("text", "line", "stdout", "shown"),
    [
        ("print(int('1'))\n", 1, "1\n", True),
        ("x = int('1')\nprint(x)\n", 1, "1\n", True),
        ("x = int('1')\nprint(x)\n", 1, "", False),
        ("x = int('1')\n", 1, "", False),
        ("print('begin')\nx = int('1')\nprint('it ended', x)\n", 2, "begin\nit ended 1\n", True),
        ("print('begin')\nx = int('1')\nprint(f'it ended {x}')\n", 2, "begin\n", False),
        ("print('begin')\nx = int('1')\nprint(x)\n", 2, "begin\n1\n", False),
        ("print('it ended')\nx = int('1')\nprint('it ended')\n", 2, "it ended\n", False),
        ("def f():\n    print('f')\nf()\nint('1')\nprint(1)\n", 4, "f\n", False),
        ("try:\n    int('1')\nexcept ValueError: pass\nprint(1)\n", 2, "1\n", False),
        ("if True:\n    int('1')\nprint(1)\n", 2, "1\n", False),
        ("print(False and int('1'))\n", 1, "False\n", False),
        ("int('1'); print(1)\n", 1, "1\n", False),
        ("def f():\n    return int('1')\nprint(f())\n", 2, "1\n", False),
    ],
)
def test_printed_text_shows_the_passage_of_a_statement_that_stands_by_itself(
    text: str, line: int, stdout: str, *, shown: bool
) -> None:
    tree = ast.parse(text)
    assert shows_passage(tree, points_on(tree, line), [stdout]) is shown
    told = claim(raises("ValueError", "no number").model_copy(update={"at": line}))
    assert needed_attempts(told, script(text), CPU, several(3, stdout), PLAN).passage is not shown


def test_code_that_was_not_compiled_clears_nothing() -> None:
    compiled = script("import torch\nprint(torch.compile(int)('1'))\n")

    def verdict(frames: int | None) -> tuple[Verdict, str]:
        judgement = judge_job(
            ANCHORED,
            compiled,
            CPU,
            [*several(3, "1\n"), passage("passed", compiled_frames=frames)],
            plan=PLAN,
        )
        assert judgement.reason is not None
        return judgement.verdict, judgement.reason.code

    assert needs_passage(ANCHORED, compiled, CPU, several(3, "1\n"), PLAN)
    assert verdict(1) == (Verdict.NOT_REPRODUCED, "point_passed")
    assert verdict(0) == (Verdict.CANNOT_SHOW, "not_compiled")


def test_it_does_not_count() -> None:
    judgement = judge_job(ANCHORED, SCRIPT, CPU, [*several(3), passage("passed")], plan=PLAN)
    assert (judgement.matched, judgement.of) == (0, 3)
