"""A card has several places: attempts that wait for it overlap, and those that need it alone are alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from stage import TOOLCHAIN, Stage, result

from app.runs.lifecycle import node_choice
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import (
    Attempt,
    CardState,
    CardUse,
    Device,
    Gpu,
    Hello,
    Level,
    Outcome,
    Reason,
    ToolchainFacts,
)
from worker.contract.names import CARD_NOT_FREE

CHAIN = ToolchainFacts(
    name=TOOLCHAIN, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", cuda_build="13.0"
)
PLAIN = "raise RuntimeError('boom')  # {}"
TIMED = "import time\nraise RuntimeError('boom')  # {}"
AT_TOUCH, FROM_START = CardUse.AT_TOUCH, CardUse.FROM_START


def hello(stage: Stage, *, places: int, cards: int = 1, slots: int = 8) -> None:
    gpus = [
        Gpu(
            index=index,
            model="NVIDIA H200",
            memory_bytes=1,
            capability="9.0",
            driver="1",
            state=CardState.SOUND,
            sound_at=100.0,
        )
        for index in range(cards)
    ]
    stage.say(
        Hello(
            node="lab",
            instance="one",
            slots=slots,
            level=Level.NAMESPACES_CGROUP,
            gpus=gpus,
            toolchains=[CHAIN],
            cores=8,
            card_places=places,
        )
    )
    stage.beat("lab")


def run(stage: Stage, script: str, *, repeats: int = 2, gpus: int = 1) -> str:
    with stage.session() as session:
        target = Target(device=Device.CUDA, gpus=gpus, toolchain=TOOLCHAIN)
        request = Submission(script=script, claim="RuntimeError: boom", repeats=repeats, targets=(target,))
        return submit(session, request, settings=stage.settings).document.id


def end(stage: Stage, attempts: list[Attempt]) -> None:
    for attempt in attempts:
        stage.start(attempt, node="lab")
        stage.say(result(attempt, node="lab"))


def cards(attempts: list[Attempt]) -> list[CardUse]:
    return [attempt.card for attempt in attempts]


@pytest.mark.parametrize(("places", "given"), [(1, [FROM_START]), (3, [AT_TOUCH] * 3)])
def test_as_many_as_a_card_has_places(stage: Stage, places: int, given: list[CardUse]) -> None:
    hello(stage, places=places)
    for number in range(3):
        run(stage, PLAIN.format(number))
    attempts = stage.dispatch()
    assert cards(attempts) == given
    assert stage.dispatch() == []
    end(stage, attempts[:1])
    assert cards(stage.dispatch()) == given[:1]


def test_one_that_measures_is_alone_and_does_not_starve(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has waited for so long already.
    monkeypatch.setattr(node_choice, "LATER", timedelta())
    hello(stage, places=3)
    earlier = run(stage, PLAIN.format(0), repeats=2)
    first = stage.dispatch()
    assert cards(first) == [AT_TOUCH] * 2
    timed = run(stage, TIMED.format(0), repeats=1)
    later = run(stage, PLAIN.format(1), repeats=4)
    # A place is free, but nobody starts before it who came later.
    assert stage.dispatch() == []
    end(stage, first[:1])
    assert stage.dispatch() == []
    end(stage, first[1:])
    (alone,) = stage.dispatch()
    assert (alone.run_id, alone.card) == (timed, FROM_START)
    # Nobody starts beside it.
    assert stage.dispatch() == []
    end(stage, [alone])
    after = stage.dispatch()
    assert (cards(after), {attempt.run_id for attempt in after}) == ([AT_TOUCH] * 3, {later})
    assert [stage.run(each).state for each in (earlier, timed)] == ["finished", "finished"]


def begin_both_kinds(stage: Stage) -> tuple[str, list[Attempt], str]:
    """A plain run of which the first attempts have ended, and an attempt that measures and is alone now."""
    hello(stage, places=3)
    plain = run(stage, PLAIN.format(0), repeats=5)
    first = stage.dispatch()
    timed = run(stage, TIMED.format(0), repeats=2)
    assert stage.dispatch() == []
    end(stage, first)
    alone = stage.dispatch()
    assert cards(alone) == [FROM_START]
    assert stage.dispatch() == []
    return plain, alone, timed


def test_those_that_measure_follow_each_other_while_repeats_wait(stage: Stage) -> None:
    """Each change between the two kinds leaves the card without work for an import."""
    plain, alone, timed = begin_both_kinds(stage)
    other = run(stage, TIMED.format(1), repeats=1)
    order = []
    while cards(alone) == [FROM_START]:
        order.append(alone[0].run_id)
        end(stage, alone)
        alone = stage.dispatch()
    # The first answer comes before the repeat.
    assert order == [timed, other, timed]
    assert (cards(alone), {attempt.run_id for attempt in alone}) == ([AT_TOUCH] * 2, {plain})


def test_first_answers_of_runs_that_measure_come_together_after_others(stage: Stage) -> None:
    hello(stage, places=3)
    timed = [run(stage, TIMED.format(number), repeats=1) for number in range(2)]
    plain = [run(stage, PLAIN.format(number), repeats=2) for number in range(5)]
    kinds = []
    while attempts := stage.dispatch():
        kinds.append((cards(attempts)[0], len(attempts), sum(each.run_id in timed for each in attempts)))
        end(stage, attempts)
    # Five first answers, both of those that measure, then the repeats.
    assert [kind for kind, *_ in kinds] == [AT_TOUCH, AT_TOUCH, FROM_START, FROM_START, AT_TOUCH, AT_TOUCH]
    assert {stage.run(each).state for each in (*timed, *plain)} == {"finished"}


def test_those_that_measure_wait_for_first_answers_of_others_for_a_while_only(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_choice, "LATER", timedelta())
    hello(stage, places=3)
    run(stage, TIMED.format(0), repeats=1)
    run(stage, PLAIN.format(0), repeats=2)
    assert cards(stage.dispatch()) == [FROM_START]


def test_a_first_answer_does_not_wait_for_those_that_measure(stage: Stage) -> None:
    _plain, alone, _timed = begin_both_kinds(stage)
    run(stage, PLAIN.format(1), repeats=1)
    end(stage, alone)
    assert cards(stage.dispatch()) == [AT_TOUCH] * 3


def test_repeats_wait_for_those_that_measure_for_a_while_only(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, alone, _timed = begin_both_kinds(stage)
    monkeypatch.setattr(node_choice, "TOGETHER", timedelta())
    end(stage, alone)
    after = stage.dispatch()
    assert (cards(after), {attempt.run_id for attempt in after}) == ([AT_TOUCH] * 2, {plain})


def test_several_cards_from_the_start(stage: Stage) -> None:
    hello(stage, places=3, cards=2)
    run(stage, PLAIN.format(0), gpus=2, repeats=1)
    run(stage, PLAIN.format(1), repeats=1)
    (first,) = stage.dispatch()
    assert (first.gpus, first.card) == (2, FROM_START)
    end(stage, [first])
    assert cards(stage.dispatch()) == [AT_TOUCH]


def test_measuring_attempts_share_a_node_with_several_cards(stage: Stage) -> None:
    """As ever: each has a card of its own."""
    hello(stage, places=3, cards=2)
    for number in range(3):
        run(stage, TIMED.format(number), repeats=1)
    assert cards(stage.dispatch()) == [FROM_START] * 2


def test_one_that_found_no_card_has_it_from_the_start_next_time(stage: Stage) -> None:
    hello(stage, places=2)
    run_id = run(stage, PLAIN.format(0), repeats=1)
    (attempt,) = stage.dispatch()
    assert attempt.card is AT_TOUCH
    stage.start(attempt, node="lab")
    reason = Reason(code=CARD_NOT_FREE, detail="its card was not free")
    stage.say(
        result(attempt, node="lab").model_copy(update={"outcome": Outcome.SETUP_FAILED, "reason": reason})
    )
    assert stage.run(run_id).jobs[0].attempts[0].state == "queued"
    (again,) = stage.dispatch()
    assert (again.attempt_id, again.lease_no, again.card) == (attempt.attempt_id, 2, FROM_START)
    end(stage, [again])
    assert (stage.run(run_id).state, stage.run(run_id).verdict) == ("finished", "reproduced")
