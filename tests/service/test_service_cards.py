"""A card that is found faulty: its results since the last passed check are run again on other cards."""

from __future__ import annotations

from typing import Any

from stage import TOOLCHAIN, Stage, result

from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Attempt, CardReading, CardState, Device, Gpu, Hello, Level, ToolchainFacts

CHAIN = ToolchainFacts(
    name=TOOLCHAIN, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", cuda_build="13.0"
)


def hello(
    stage: Stage, name: str, *, state: CardState = CardState.SOUND, sound_at: float = 100.0, detail: str = ""
) -> None:
    card = Gpu(
        index=0,
        model="NVIDIA H200",
        memory_bytes=1,
        capability="9.0",
        driver="1",
        state=state,
        detail=detail,
        sound_at=sound_at,
    )
    stage.say(
        Hello(
            node=name,
            instance="one",
            slots=2,
            level=Level.NAMESPACES_CGROUP,
            gpus=[card],
            toolchains=[CHAIN],
            cores=8,
        )
    )
    stage.beat(name)


def on_a_card(stage: Stage) -> str:
    with stage.session() as session:
        target = Target(device=Device.CUDA, gpus=1, toolchain=TOOLCHAIN)
        wish: dict[str, Any] = {
            "script": "raise RuntimeError('boom')",
            "claim": "RuntimeError: boom",
            "repeats": 2,
            "targets": (target,),
        }
        return submit(session, Submission(**wish), settings=stage.settings).document.id


def give(stage: Stage, attempt: Attempt, *, node: str, sound_at: float) -> None:
    stage.start(attempt, node=node)
    reading = CardReading(index=0, temperature=40, sound_at=sound_at)
    said = result(attempt, node=node)
    observation = said.observation.model_copy(
        update={"cards": [reading], "devices_used": ["cuda:0"], "devices_opened": ["/dev/nvidia0"]}
    )
    stage.say(said.model_copy(update={"observation": observation}))


def finish(stage: Stage, *, node: str, sound_at: float) -> int:
    """Run everything that the node gets, until nothing is left."""
    count = 0
    while attempts := stage.dispatch():
        for attempt in attempts:
            give(stage, attempt, node=node, sound_at=sound_at)
            count += 1
    return count


def test_what_rests_on_it_is_asked_for_again(stage: Stage) -> None:
    hello(stage, "lab")
    run_id = on_a_card(stage)
    assert finish(stage, node="lab", sound_at=100.0) == 2
    assert (stage.run(run_id).state, stage.run(run_id).verdict) == ("finished", "reproduced")
    hello(stage, "lab", state=CardState.FAULTY, detail="card 0: fft is not what this model gives")
    reopened = stage.run(run_id)
    assert (reopened.state, reopened.verdict, reopened.finished_at) == ("running", None, None)
    assert [(part.state, part.counted) for part in reopened.jobs[0].attempts] == [("recorded", False)] * 2 + [
        ("queued", True)
    ] * 2
    # Not on the faulty card, and not twice.
    hello(stage, "lab", state=CardState.FAULTY, detail="still")
    assert stage.dispatch() == []
    assert len(stage.run(run_id).jobs[0].attempts) == 4
    hello(stage, "other", sound_at=7.0)
    assert finish(stage, node="other", sound_at=7.0) == 2
    again = stage.run(run_id)
    assert (again.state, again.verdict, again.jobs[0].of) == ("finished", "reproduced", 2)


def test_what_a_later_check_vouches_for_stays(stage: Stage) -> None:
    hello(stage, "lab")
    run_id = on_a_card(stage)
    finish(stage, node="lab", sound_at=100.0)
    hello(stage, "lab", sound_at=700.0)
    hello(stage, "lab", state=CardState.FAULTY, sound_at=700.0)
    assert stage.run(run_id).state == "finished"


def test_a_card_in_use_by_others_gets_nothing_and_loses_nothing(stage: Stage) -> None:
    hello(stage, "lab")
    run_id = on_a_card(stage)
    finish(stage, node="lab", sound_at=100.0)
    hello(stage, "lab", state=CardState.IN_USE)
    assert stage.run(run_id).state == "finished"
    second = stage.run(on_a_card(stage)).jobs[0]
    assert second.reason is not None
    assert second.reason.code == "card_in_use"


def test_a_run_that_is_planned_meanwhile_says_why(stage: Stage) -> None:
    hello(stage, "lab", state=CardState.FAULTY)
    job = stage.run(on_a_card(stage)).jobs[0]
    assert (job.verdict, job.reason and job.reason.code, job.reason and job.reason.who_can_act) == (
        "cannot_show",
        "card_faulty",
        "operator",
    )
