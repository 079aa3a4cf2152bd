"""The number of attempts for a verdict: early stop, growth, exact plans."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, NO_CUDA, check, claim, prints, raises, result, script, several

from app.intake.claim.claims import Check, CheckKind, Claim, Over
from app.judging.check.reach import UNSEEN_IN_FEW
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import (
    ALWAYS,
    ALWAYS_RANDOM,
    MIXED,
    MIXED_COLD,
    NEVER_RANDOM,
    RULE,
    may_vary,
    most_attempts,
    most_warm,
    next_attempts,
)
from app.judging.verdict.frequency import LEAST_FOR_SOMETIMES
from app.judging.verdict.job import judge_job
from app.judging.verdict.rates import LEVEL, attempts_to_exclude
from app.targets.planning.plan import RepeatPlan
from worker.contract import Outcome, Result, Start

FAILS = raises("RuntimeError", "shape mismatch")
FAILED = {"raised": ("RuntimeError", "shape mismatch")}
QUICK = RepeatPlan(5)
VARIES = check(CheckKind.VARIES, "another result every time", over=Over.REPEATS)


def more(
    results: list[Result],
    *,
    told: Claim | None = None,
    plan: RepeatPlan = QUICK,
    script_text: str = "print(1)",
    **of_script: Any,
) -> int:
    return next_attempts(told or claim(FAILS), script(script_text, **of_script), CPU, results, plan)


def played(
    outcomes: dict[str, Any], *, told: Claim | None = None, plan: RepeatPlan = QUICK, **of_script: Any
) -> int:
    """How many attempts a job takes whose every attempt shows the same."""
    results: list[Result] = []
    while (count := more(results, told=told, plan=plan, **of_script)) > 0:
        results += [result(attempt=f"a{len(results) + number:03}", **outcomes) for number in range(count)]
        assert len(results) <= 250
    return len(results)


def test_one_attempt_first() -> None:
    assert more([]) == 1


@pytest.mark.parametrize(
    ("shows", "attempts"),
    [
        (FAILED, 3),
        ({"raised": ("AssertionError", NO_CUDA)}, 1),
        ({"outcome": Outcome.TIMED_OUT}, 1),
        ({"stdout": "fine\n"}, 5),
        ({"raised": ("RuntimeError", "other")}, 3),
    ],
)
def test_a_job_stops_when_it_is_decided(shows: dict[str, Any], attempts: int) -> None:
    assert played(shows) == attempts


@pytest.mark.parametrize(
    ("shows", "attempts"),
    [(FAILED, 10), ({"stdout": "fine\n"}, 20), ({"raised": ("AssertionError", NO_CUDA)}, 1)],
)
def test_chance_needs_more_before_always_and_never(shows: dict[str, Any], attempts: int) -> None:
    assert played(shows, unseeded=True) == attempts
    assert played(shows, told=claim(FAILS, text="Fails sometimes, about three in ten runs.")) == (
        {10: 20, 20: LEAST_FOR_SOMETIMES}.get(attempts, attempts)
    )


def test_silence_is_repeated_where_chance_has_a_part() -> None:
    assert played({}, told=claim(prints("mismatch")), unseeded=True) == 20
    assert played({}, told=claim(prints("mismatch"))) == 1


def mixed(count: int, *, seconds: float) -> list[Result]:
    fine = [result("fine\n", attempt=f"b{number}", wall_seconds=seconds) for number in range(count - 1)]
    return [result(attempt="a1", wall_seconds=seconds, **FAILED), *fine]


def test_a_mixed_job_grows_until_its_rate_is_known() -> None:
    assert more(mixed(2, seconds=2.0)) == MIXED - 2
    assert more(mixed(MIXED, seconds=2.0)) == 0
    assert more(mixed(2, seconds=2.0), plan=RepeatPlan(30)) == 28


def test_a_slow_mixed_job_is_seen_to_the_plan_and_no_further() -> None:
    assert more(mixed(2, seconds=59.0)) == 3
    assert more(mixed(5, seconds=59.0)) == 0
    assert more(mixed(2, seconds=30.0)) == 8
    assert more(mixed(2, seconds=59.0), plan=RepeatPlan(4, exact=True)) == 2


def test_an_explicit_number_is_exact() -> None:
    exact = RepeatPlan(7, exact=True)
    assert more([], plan=exact) == 7
    assert more(several(4, **FAILED), plan=exact) == 3
    assert more(several(7, **FAILED), plan=exact) == 0
    assert played({"raised": ("AssertionError", NO_CUDA)}, plan=exact) == 7


def test_trouble_of_ours_is_made_up_for() -> None:
    lost = [result(outcome=Outcome.LOST, attempt=f"x{number}") for number in range(3)]
    assert more(lost) == 1
    assert more([*lost, *several(2, **FAILED)]) == 1


def test_a_result_that_varies_needs_three_and_one_that_does_not_the_whole_plan() -> None:
    told = claim(check(CheckKind.VARIES, "another result every time"))
    assert played({"stdout": "loss 1\n"}, told=told) == 5
    assert more([result(f"loss {number}\n", attempt=f"a{number}") for number in range(3)], told=told) == 0


def test_words_of_chance() -> None:
    for text in (
        "It fails intermittently",
        "in 3 out of 10 runs",
        "about 30 % of the time",
        "randomly crashes",
    ):
        assert may_vary(claim(text=text), script())
    assert not may_vary(claim(text="It always fails."), script())


def warm_of(results: list[Result], *, told: Claim | None = None, plan: RepeatPlan = QUICK) -> int:
    return most_warm(told or claim(FAILS), script(), CPU, results, plan)


def test_the_further_repeats_of_a_mixed_job_may_start_warm() -> None:
    met, absent = result(attempt="a1", **FAILED), result("fine\n", attempt="a2")
    assert warm_of([met, absent]) == MIXED - MIXED_COLD
    assert warm_of([]) == 0
    # Mixed by cold attempts alone, or it may be the warm start that makes the difference.
    assert warm_of([met, result("fine\n", attempt="a2", start=Start.WARM)]) == 0
    # A number that was asked for is of cold ones, and so are all that would be among the first anyway.
    assert warm_of([met, absent], plan=RepeatPlan(20, exact=True)) == 0
    assert warm_of([met, absent], plan=RepeatPlan(18)) == MIXED - 18
    # A claim about the repeats themselves is judged over cold ones alone.
    assert warm_of([result("1\n", attempt="a1"), result("2\n", attempt="a2")], told=claim(VARIES)) == 0
    # None where they would take too long in any case.
    assert (
        warm_of(
            [
                result(attempt="a1", wall_seconds=50.0, **FAILED),
                result("x\n", attempt="a2", wall_seconds=50.0),
            ]
        )
        == 0
    )


def test_a_trace_needs_one_attempt() -> None:
    traced = CPU.model_copy(update={"settings": {"trace": "on"}})
    assert next_attempts(claim(FAILS), script(), traced, [], QUICK) == 1
    assert next_attempts(claim(FAILS), script(unseeded=True), traced, several(1, "fine\n"), QUICK) == 0
    assert next_attempts(claim(FAILS), script(), traced, several(1, "fine\n"), RepeatPlan(4, exact=True)) == 3


@pytest.mark.parametrize(
    ("told", "text", "unseeded", "attempts"),
    [
        pytest.param(check(CheckKind.CRASH, signal="SIGSEGV"), "import threading\n", False, 59, id="threads"),
        pytest.param(check(CheckKind.HANG), "from multiprocessing import Pool\n", False, 59, id="processes"),
        pytest.param(check(CheckKind.CRASH, signal="SIGSEGV"), "print(1)\n", True, 59, id="draws"),
        pytest.param(prints("tensor(nan)"), "print(1)\n", True, 59, id="nan of some draws"),
        pytest.param(prints("tensor(nan)"), "print(1)\n", False, 5, id="nan without draws"),
        pytest.param(prints("tensor(7)"), "print(1)\n", True, 20, id="a value of draws"),
        pytest.param(check(CheckKind.CRASH, signal="SIGSEGV"), "print(1)\n", False, 5, id="one thread"),
        pytest.param(FAILS, "import threading\n", False, 5, id="an error"),
        pytest.param(raises("AssertionError"), "print(1)\n", True, 59, id="an assertion about draws"),
        pytest.param(raises("AssertionError"), "print(1)\n", False, 5, id="an assertion without draws"),
        pytest.param(FAILS, "print(1)\n", True, 20, id="another error with draws"),
    ],
)
def test_a_never_needs_many_attempts_where_chance_decides(
    told: Check, text: str, *, unseeded: bool, attempts: int
) -> None:
    of = script(text, unseeded=unseeded)
    assert most_attempts(claim(told), of, QUICK) == attempts
    assert most_attempts(claim(told), of, RepeatPlan(5, exact=True)) == 5
    if told.kind is CheckKind.CRASH:
        assert played({"stdout": "fine\n"}, told=claim(told), script_text=text, unseeded=unseeded) == attempts
        few = judge_job(claim(told), of, CPU, several(attempts - 1, "fine\n"), plan=QUICK)
        is_few = (few.verdict, few.reason) == (Verdict.CANNOT_SHOW, UNSEEN_IN_FEW)
        assert is_few is (attempts == LEAST_FOR_SOMETIMES)


LOOP = "import random\nfor i in range(60):\n    assert random.random() < 1\n"


@pytest.mark.parametrize(("at", "attempts"), [(3, 5), (2, 59), (None, 59)])
def test_a_script_that_repeats_the_assertion_itself_needs_no_more_attempts(
    at: int | None, attempts: int
) -> None:
    told = claim(raises("AssertionError").model_copy(update={"at": at}), text="It fails sometimes.")
    of = script(LOOP, unseeded=True)
    assert played({"stdout": ""}, told=told, script_text=LOOP, unseeded=True) == attempts
    for plan in (None, QUICK):
        few = judge_job(told, of, CPU, several(5, ""), plan=plan)
        assert few.verdict is (Verdict.NOT_REPRODUCED if attempts == 5 else Verdict.CANNOT_SHOW)


DIGITS = "tensor(0.7316058)\n"


def played_one_by_one(told: Claim, shown: list[str], **of_script: Any) -> int:
    """How many attempts a job takes that shows these outputs. Queued ones that are not needed do not run."""
    results: list[Result] = []
    while more(results, told=told, **of_script):
        results.append(result(shown[len(results)], attempt=f"a{len(results):03}"))
    return len(results)


@pytest.mark.parametrize(
    ("told", "shows", "attempts"),
    [
        pytest.param(claim(prints("0.7316058")), DIGITS, 3, id="met"),
        pytest.param(claim(prints("0.73")), "0.73\n", 10, id="few digits"),
        pytest.param(claim(prints("tensor(nan)")), DIGITS, 20, id="a value that few draws have"),
        pytest.param(claim(prints("0.7316058"), text="Prints it sometimes."), DIGITS, 20, id="sometimes"),
        pytest.param(claim(raises("RuntimeError")), DIGITS, 20, id="not about numbers"),
    ],
)
def test_draws_that_do_not_reach_the_numbers_need_no_more_attempts(
    told: Claim, shows: str, attempts: int
) -> None:
    assert played_one_by_one(told, [shows] * 59, unseeded=True) == attempts


def test_draws_show_if_the_numbers_stand_in_the_script_or_differ() -> None:
    told = claim(prints("0.7316058"))
    assert played_one_by_one(told, [DIGITS] * 10, script_text=f"print({DIGITS})", unseeded=True) == 10
    differ = [f"0.7316058 0.{number}123456\n" for number in range(1, 60)]
    assert played_one_by_one(told, differ, unseeded=True) == 10


def test_a_rate_that_is_known_well_enough_needs_no_more_attempts() -> None:
    met = [result(attempt=f"a{number}", wall_seconds=1.0, **FAILED) for number in range(1)]
    absent = [result("fine\n", attempt=f"b{number}", wall_seconds=1.0) for number in range(19)]
    counts = [more([*met, *absent[:number]]) for number in range(1, 20)]
    assert counts[0] == MIXED - 2
    stops = counts.index(0) + 2
    assert 5 < stops < MIXED
    found = judge_job(claim(FAILS), script(), CPU, [*met, *absent[: stops - 1]], plan=QUICK)
    assert found.rate_interval is not None
    assert found.rate_interval.high - found.rate_interval.low <= RULE.rate_width


def test_the_numbers_follow_from_the_rule() -> None:
    assert (ALWAYS, ALWAYS_RANDOM, NEVER_RANDOM, LEAST_FOR_SOMETIMES) == (3, 10, 20, 59)
    assert attempts_to_exclude(RULE.never_sometimes) == LEAST_FOR_SOMETIMES
    assert RULE.error == pytest.approx(1 - LEVEL)


FIXED_CELL = CPU.model_copy(update={"settings": {"fix": "python"}})
DIFFERENT = [result(f"{number}\n", attempt=f"p{number}") for number in range(5)]


@pytest.mark.parametrize(
    ("plain", "shown", "attempts"),
    [
        pytest.param(several(5, "1\n"), ["1\n"] * 12, 1, id="nothing varies"),
        pytest.param(DIFFERENT, ["9\n"] * 12, 2, id="every attempt differs"),
        pytest.param(DIFFERENT[:3], ["9\n"] * 12, 3, id="three attempts differ"),
        pytest.param(DIFFERENT, ["8\n", "9\n"] * 6, 2, id="it varies still"),
        pytest.param([*several(19, "1\n"), *DIFFERENT[:1]], ["1\n"] * 12, 1, id="too seldom to be tested"),
        pytest.param(None, ["1\n"] * 12, 12, id="the plain cell is still open"),
        pytest.param(None, ["8\n", "9\n"] * 6, 2, id="open, and it varies"),
    ],
)
def test_a_test_for_a_cause_ends_with_its_answer(
    plain: list[Result] | None, shown: list[str], attempts: int
) -> None:
    told, of = claim(VARIES), script("import random\nprint(random.random())", unseeded=True)
    results: list[Result] = []
    while next_attempts(told, of, FIXED_CELL, results, QUICK, plain=plain):
        results.append(result(shown[len(results)], attempt=f"f{len(results)}"))
    assert len(results) == attempts


@pytest.mark.parametrize(
    ("plain", "text", "attempts"),
    [
        pytest.param(several(5, "1\n"), "", 3, id="nothing varies"),
        pytest.param(None, "", 5, id="the plain cell is still open"),
        pytest.param(DIFFERENT, "", 5, id="it varies without the setting"),
        pytest.param(several(5, "1\n"), "It differs sometimes.", 59, id="it happens sometimes"),
    ],
)
def test_a_setting_has_nothing_to_remove_if_nothing_varies(
    plain: list[Result] | None, text: str, attempts: int
) -> None:
    target = CPU.model_copy(update={"settings": {"threads": "1"}})
    results: list[Result] = []
    while next_attempts(claim(VARIES, text=text), script(), target, results, QUICK, plain=plain):
        results.append(result("1\n", attempt=f"t{len(results):03}"))
    assert len(results) == attempts
    assert judge_job(claim(VARIES, text=text), script(), target, results, plan=QUICK).verdict is (
        Verdict.NOT_REPRODUCED
    )
