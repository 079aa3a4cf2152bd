"""Which repeats may start warm: those after the first cold attempt, as long as they show the same."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, CUDA, check, claim, raises, result, script

from app.intake.claim.claims import CheckKind, Claim
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import ALWAYS, most_warm, next_attempts
from app.judging.verdict.job import evidence_of, judge_job
from app.targets.planning.plan import RepeatPlan
from worker.contract import Result, Start

FAILS = raises("RuntimeError", "shape mismatch")
FAILED = {"raised": ("RuntimeError", "shape mismatch")}
QUICK = RepeatPlan(5)


def warm_of(
    results: list[Result],
    *,
    about: Claim | None = None,
    plan: RepeatPlan = QUICK,
    text: str = "print(1)",
    **of_script: Any,
) -> int:
    return most_warm(about or claim(FAILS), script(text, **of_script), CPU, results, plan)


def failed(attempt: str, start: Start = Start.COLD, **seen: Any) -> Result:
    return result(attempt=attempt, start=start, **{**FAILED, **seen})


def test_the_first_attempt_is_cold_and_the_next_ones_may_be_warm() -> None:
    assert warm_of([]) == 0
    assert warm_of([failed("a1")]) == QUICK.at_most - 1
    assert warm_of([failed("a1"), failed("a2", Start.WARM)]) == QUICK.at_most - 1


def test_a_job_without_a_claim_may_repeat_warm() -> None:
    assert warm_of([result("4\n", attempt="a1")], about=claim()) > 0


def test_a_verdict_that_the_bug_did_not_show_itself_counts_cold_attempts_alone() -> None:
    assert warm_of([result("fine\n", attempt="a1")]) == 0
    assert warm_of([result(attempt="a1", raised=("RuntimeError", "another"))]) == 0


@pytest.mark.parametrize(
    ("changes", "of_script"),
    [
        ({"plan": RepeatPlan(5, exact=True)}, {}),
        ({"about": claim(FAILS, text="It fails sometimes.")}, {}),
        ({"about": claim(FAILS, check(CheckKind.VARIES, "another result"))}, {}),
        ({"text": "import time\nimport torch\n"}, {}),
        ({}, {"unseeded": True}),
    ],
    ids=["exact number", "sometimes", "varies", "measures time", "no seed"],
)
def test_what_may_differ_by_chance_repeats_cold(changes: dict[str, Any], of_script: dict[str, Any]) -> None:
    assert warm_of([failed("a1")], **changes, **of_script) == 0


@pytest.mark.parametrize(
    "seen",
    [{"raised": None, "stdout": "fine\n"}, {"stdout": "more\n"}, {"raised": ("RuntimeError", "another")}],
    ids=["no failure", "other output", "other failure"],
)
def test_a_warm_one_that_shows_something_else_is_made_up_for_by_cold_ones(seen: dict[str, Any]) -> None:
    raised = seen.pop("raised", FAILED["raised"])
    unlike = result(attempt="a2", start=Start.WARM, **seen, **({"raised": raised} if raised else {}))
    results = [failed("a1"), unlike]
    assert warm_of(results) == 0
    assert next_attempts(claim(FAILS), script("print(1)"), CPU, results, QUICK) == ALWAYS - 1


def test_warm_ones_that_show_the_same_are_enough() -> None:
    results = [failed("a1"), failed("a2", Start.WARM), failed("a3", Start.WARM)]
    assert next_attempts(claim(FAILS), script("print(1)"), CPU, results, QUICK) == 0


def beside_others(seen: Result) -> Result:
    """The same attempt, started warm and with a card that others had too."""
    observation = seen.observation.model_copy(update={"card_shared": True})
    return seen.model_copy(update={"start": Start.WARM, "observation": observation})


def test_what_shared_its_card_counts_only_if_one_alone_shows_the_same() -> None:
    about, text = claim(FAILS), script("print(1)")
    same = [failed("a1"), beside_others(failed("a2")), beside_others(failed("a3"))]
    assert len(evidence_of(same)) == ALWAYS
    assert next_attempts(about, text, CPU, same, QUICK) == 0
    unlike = [failed("a1"), beside_others(result("fine\n", attempt="a2")), beside_others(failed("a3"))]
    assert [each.attempt_id for each in evidence_of(unlike)] == ["a1", "a3"]
    # One more, and none of them warm.
    assert next_attempts(about, text, CPU, unlike, QUICK) == 1
    assert warm_of(unlike) == 0
    assert judge_job(about, text, CPU, unlike).verdict is Verdict.REPRODUCED


def test_no_verdict_rests_on_shared_cards_alone() -> None:
    about, text = claim(FAILS), script("print(1)")
    for seen in (failed("a1"), result("fine\n", attempt="a1")):
        shared = [beside_others(seen.model_copy(update={"attempt_id": f"a{at}"})) for at in range(6)]
        assert evidence_of(shared) == []
        assert judge_job(about, text, CPU, shared).verdict is Verdict.NO_RESULT


def test_faults_and_memory_of_a_card_repeat_warm_on_a_card_only() -> None:
    fault = claim(raises("RuntimeError", "CUDA error: device-side assert triggered"))
    seen = [result(attempt="a1", raised=("RuntimeError", "CUDA error: device-side assert triggered"))]
    text = script("import torch")
    assert most_warm(fault, text, CUDA, seen, QUICK) > 0
    assert most_warm(fault, text, CPU, seen, QUICK) == 0
    assert most_warm(fault, script("import time"), CUDA, seen, QUICK) == 0
