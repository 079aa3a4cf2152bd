"""A node with two cards: a job on both does not wait behind jobs on one, and a kind of card is found."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import update
from stage import TOOLCHAIN, Stage, result

from app.runs.lifecycle import node_choice
from app.runs.submission.submit import Submission, submit
from app.storage.models import AttemptRow
from app.targets.target import Target
from worker.contract import Attempt, CardState, Device, Gpu, Hello, Level, ToolchainFacts

CHAIN = ToolchainFacts(
    name=TOOLCHAIN, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", cuda_build="13.0"
)


def hello(stage: Stage, *capabilities: str, places: int = 1, node: str = "lab") -> None:
    gpus = [
        Gpu(
            index=index,
            model="NVIDIA H200",
            memory_bytes=1,
            capability=capability,
            driver="1",
            state=CardState.SOUND,
        )
        for index, capability in enumerate(capabilities)
    ]
    stage.say(
        Hello(
            node=node,
            instance="one",
            slots=8,
            level=Level.NAMESPACES_CGROUP,
            gpus=gpus,
            toolchains=[CHAIN],
            cores=8,
            card_places=places,
        )
    )
    stage.beat(node)


def run(stage: Stage, number: int, *targets: Target, gpus: int = 1, repeats: int = 1) -> str:
    asked = targets or (Target(device=Device.CUDA, gpus=gpus, toolchain=TOOLCHAIN),)
    with stage.session() as session:
        request = Submission(
            script=f"raise RuntimeError('boom')  # {number}",
            claim="RuntimeError: boom",
            repeats=repeats,
            targets=asked,
        )
        return submit(session, request, settings=stage.settings).document.id


def end(stage: Stage, attempts: list[Attempt]) -> None:
    for attempt in attempts:
        stage.start(attempt, node="lab")
        stage.say(result(attempt, node="lab"))


@pytest.mark.parametrize("places", [1, 2])
def test_a_job_on_two_cards_among_twenty_on_one(stage: Stage, places: int) -> None:
    """It starts as soon as those have ended that run when it comes, and all end."""
    hello(stage, "9.0", "9.0", places=places)
    singles = [run(stage, number) for number in range(10)]
    running = stage.dispatch()
    assert len(running) == 2 * places
    pair = run(stage, 99, gpus=2, repeats=2)
    singles += [run(stage, number) for number in range(10, 20)]
    # Cards become free one by one, and nobody takes them.
    for attempt in running:
        assert stage.dispatch() == []
        end(stage, [attempt])
    (both,) = stage.dispatch()
    assert (both.run_id, both.gpus) == (pair, 2)
    assert stage.dispatch() == []
    end(stage, [both])
    # The others do not wait for its second attempt.
    rounds = 0
    while attempts := stage.dispatch():
        if not rounds:
            assert {attempt.run_id for attempt in attempts} <= set(singles)
        end(stage, attempts)
        rounds += 1
    assert {stage.run(each).state for each in (pair, *singles)} == {"finished"}


def test_the_patience_of_those_on_one_card_ends(stage: Stage) -> None:
    """While somebody has waited for long, a new job on two cards takes its turn like others."""
    hello(stage, "9.0", "9.0")
    singles = [run(stage, number) for number in range(3)]
    with stage.session() as session:
        before = AttemptRow.queued_at - timedelta(seconds=stage.settings.one_card_seconds + 1)
        session.execute(update(AttemptRow).values(queued_at=before))
    pair = run(stage, 99, gpus=2)
    first = stage.dispatch()
    assert [attempt.run_id for attempt in first] == singles[:2]
    end(stage, first[:1])
    (third,) = stage.dispatch()
    assert third.run_id == singles[2]
    later = run(stage, 3)
    end(stage, [first[1]])
    # Now it is its turn, and the later one does not overtake it.
    assert stage.dispatch() == []
    end(stage, [third])
    assert [attempt.run_id for attempt in stage.dispatch()] == [pair]
    assert stage.run(later).state != "finished"


def test_it_waits_on_the_node_where_most_cards_are_free(stage: Stage) -> None:
    hello(stage, "9.0", "9.0", node="lab")
    first = [run(stage, number) for number in range(2)]
    held = stage.dispatch()
    assert {attempt.run_id for attempt in held} == set(first)
    hello(stage, "9.0", "9.0", node="other")
    run(stage, 2)
    stage.dispatch()
    pair = run(stage, 99, gpus=2)
    later = run(stage, 3)
    # One card of `other` is free, and kept; on `lab` there is none.
    assert stage.dispatch() == []
    end(stage, held[:1])
    # `lab` has one free card too, and one of the two is kept.
    (one,) = stage.dispatch()
    assert one.run_id == later
    assert stage.run(pair).jobs[0].attempts[0].state == "queued"


def test_two_cells_that_differ_in_the_card_only(stage: Stage) -> None:
    """The node learns which kind each needs. A cell whose card is busy waits, and the other goes on."""
    hello(stage, "8.0", "9.0")
    kinds = [Target(device=Device.CUDA, capability=kind, toolchain=TOOLCHAIN) for kind in ("sm80", "sm90")]
    run(stage, 0, *kinds)
    both = stage.dispatch()
    assert sorted(str(attempt.capability) for attempt in both) == ["sm80", "sm90"]
    run(stage, 1, kinds[0])
    run(stage, 2, kinds[1])
    assert stage.dispatch() == []
    end(stage, [attempt for attempt in both if attempt.capability == "sm90"])
    assert [attempt.capability for attempt in stage.dispatch()] == ["sm90"]


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        # Those that have their card from the start no longer follow each other.
        (
            timedelta(),
            [(8, {"at_touch"}), (2, {"from_start"}), (4, {"at_touch"}), (2, {"from_start"})],
        ),
        (node_choice.TOGETHER, [(8, {"at_touch"}), (2, {"from_start"}), (4, {"at_touch"})]),
    ],
)
def test_the_two_kinds_take_turns(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, together: timedelta, expected: list[tuple[int, set[str]]]
) -> None:
    """Attempts that wait for a card and ones that have it from the start: each in its turn, all that fit."""
    monkeypatch.setattr(node_choice, "TOGETHER", together)
    hello(stage, "9.0", "9.0", places=4)
    at_touch = [run(stage, number, repeats=3) for number in range(4)]
    with stage.session() as session:
        timed = Submission(
            script="import time\nraise RuntimeError('boom')",
            claim="RuntimeError: boom",
            repeats=4,
            targets=(Target(device=Device.CUDA, gpus=1, toolchain=TOOLCHAIN),),
        )
        from_start = submit(session, timed, settings=stage.settings).document.id
    kinds = []
    while attempts := stage.dispatch():
        kinds.append((len(attempts), {attempt.card.value for attempt in attempts}))
        # One after the other: nobody of the other kind starts until all of this kind have ended.
        while attempts:
            end(stage, attempts[:1])
            attempts = attempts[1:]
            if attempts:
                following = stage.dispatch()
                assert {each.card for each in following} <= {attempts[0].card}
                attempts += following
    assert kinds == expected
    assert {stage.run(each).state for each in (*at_touch, from_start)} == {"finished"}
