"""The passage check in a service: one attempt more before a "no", with points, that does not count."""

from __future__ import annotations

import pytest
from stage import Stage, result

from worker.contract import Attempt, Observation, Outcome, PassedPoint, Start

pytestmark = pytest.mark.service
SCRIPT = "text = 'x'\nint(text)\n"
CLAIM = """Traceback (most recent call last):
  File "a.py", line 2, in <module>
    int(text)
ValueError: no number"""
FINE = Observation(exit_status=0)


def about_to_say_no(stage: Stage) -> tuple[str, Attempt]:
    """A run whose repeats did not show the bug, and the passage check that a node gets."""
    stage.node("n1", slots=4)
    run_id = stage.submit(SCRIPT, repeats=2, claim=CLAIM).document.id
    for attempt in stage.dispatch():
        assert not attempt.passage
        stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    (check,) = stage.dispatch()
    assert stage.run(run_id).state != "finished"
    return run_id, check


def test_a_job_is_judged_after_its_passage_check(stage: Stage) -> None:
    run_id, check = about_to_say_no(stage)
    assert [point.span[0] for point in check.passage] == [2]
    assert check.start is Start.COLD
    assert check.limits.wall_seconds > stage.settings.limits.wall_seconds
    seen = FINE.model_copy(update={"passage": [PassedPoint(line=2, state="passed")]})
    stage.say(result(check, node="n1", outcome=Outcome.COMPLETED, observation=seen))
    run = stage.run(run_id)
    job = run.jobs[0]
    assert (run.state, run.verdict, job.verdict, job.of) == (
        "finished",
        "not_reproduced",
        "not_reproduced",
        2,
    )
    assert job.reason is not None
    assert job.reason.code == "point_passed"
    assert [attempt.kind for attempt in job.attempts if not attempt.counted] == ["passage"]


def test_a_node_that_observes_nothing_gives_no_no(stage: Stage) -> None:
    run_id, check = about_to_say_no(stage)
    stage.say(result(check, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    job = stage.run(run_id).jobs[0]
    assert job.reason is not None
    assert (job.verdict, job.reason.code) == ("cannot_show", "point_not_seen")


def test_a_passage_check_that_is_lost_gives_no_no(stage: Stage) -> None:
    run_id, check = about_to_say_no(stage)
    for _ in range(stage.settings.leases):
        stage.start(check, node="n1")
        stage.say(result(check, node="n1", outcome=Outcome.LOST))
        check = next(iter(stage.dispatch()), check)
    run = stage.run(run_id)
    job = run.jobs[0]
    assert job.reason is not None
    assert (run.state, job.verdict, job.reason.code) == ("finished", "cannot_show", "point_not_seen")
