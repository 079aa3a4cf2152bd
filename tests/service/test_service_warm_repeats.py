"""After the first cold attempt, a job asks for warm repeats, and counts only what equals it."""

from __future__ import annotations

import pytest
from stage import Stage, result

from worker.contract import Attempt, Observation, Outcome, Start

pytestmark = pytest.mark.service
FINE = Observation(exit_status=0, stdout="fine\n", stdout_bytes=5)


def first_cold(stage: Stage) -> tuple[str, list[Attempt]]:
    """A run whose first attempt, a cold one, showed the bug; and the attempts that it asks for then."""
    stage.node("n1")
    run_id = stage.submit(repeats=None).document.id
    (first,) = stage.dispatch()
    assert first.start is Start.COLD
    stage.say(result(first, node="n1"))
    return run_id, stage.dispatch()


def test_the_repeats_are_warm_and_count(stage: Stage) -> None:
    run_id, repeats = first_cold(stage)
    assert [attempt.start for attempt in repeats] == [Start.WARM] * 2
    for attempt in repeats:
        stage.say(result(attempt, node="n1", start=Start.WARM))
    run = stage.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].matched, run.jobs[0].of) == ("finished", "reproduced", 3, 3)
    assert [attempt.start for attempt in run.jobs[0].attempts] == ["cold", "warm", "warm"]


def test_those_that_a_node_starts_cold_count_as_cold(stage: Stage) -> None:
    run_id, repeats = first_cold(stage)
    for attempt in repeats:
        stage.say(result(attempt, node="n1", start=Start.COLD))
    run = stage.run(run_id)
    assert (run.verdict, run.jobs[0].of) == ("reproduced", 3)
    assert {attempt.start for attempt in run.jobs[0].attempts} == {"cold"}


def test_one_that_shows_something_else_is_made_up_for(stage: Stage) -> None:
    run_id, repeats = first_cold(stage)
    for attempt in repeats:
        stage.say(result(attempt, node="n1", start=Start.WARM, outcome=Outcome.COMPLETED, observation=FINE))
    more = stage.dispatch()
    assert [attempt.start for attempt in more] == [Start.COLD] * 2
    for attempt in more:
        stage.say(result(attempt, node="n1"))
    run = stage.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].matched, run.jobs[0].of) == ("finished", "reproduced", 3, 3)


def test_a_never_is_cold(stage: Stage) -> None:
    stage.node("n1")
    stage.submit(repeats=None)
    (first,) = stage.dispatch()
    stage.say(result(first, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    assert {attempt.start for attempt in stage.dispatch()} == {Start.COLD}


def test_it_can_be_switched_off(stage: Stage) -> None:
    stage.settings = stage.settings.model_copy(update={"warm_repeats": False})
    _run_id, repeats = first_cold(stage)
    assert {attempt.start for attempt in repeats} == {Start.COLD}
