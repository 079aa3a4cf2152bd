"""The passage check in a service: one attempt more before a "no", with points, that does not count."""

from __future__ import annotations

import pytest
from stage import Stage, result

from app.runs.maintenance.correct_claim import correct_claim
from worker.contract import Attempt, ExceptionFacts, Observation, Outcome, PassedPoint, Start

pytestmark = pytest.mark.service
SCRIPT = "text = 'x'\nint(text)\n"
CLAIM = """Traceback (most recent call last):
  File "a.py", line 2, in <module>
    int(text)
ValueError: no number"""
FINE = Observation(exit_status=0)


def about_to_say_no(stage: Stage, *, repeats: int | None = 2) -> tuple[str, Attempt]:
    """A run whose repeats did not show the bug, and the passage check that a node gets."""
    stage.node("n1", slots=4)
    run_id = stage.submit(SCRIPT, repeats=repeats, claim=CLAIM).document.id
    while not (attempts := stage.dispatch())[0].passage:
        for attempt in attempts:
            stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    (check,) = attempts
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


def lose(stage: Stage, check: Attempt) -> list[Attempt]:
    """Lose all leases of an attempt, and return what a node gets then."""
    for _ in range(stage.settings.leases):
        stage.start(check, node="n1")
        stage.say(result(check, node="n1", outcome=Outcome.LOST))
        attempts = stage.dispatch()
        check = next(iter(attempts), check)
    return attempts


def test_a_passage_check_that_is_lost_twice_gives_no_no(stage: Stage) -> None:
    run_id, first = about_to_say_no(stage)
    (second,) = lose(stage, first)
    assert second.attempt_id != first.attempt_id
    assert second.passage == first.passage
    assert lose(stage, second) == []
    run = stage.run(run_id)
    job = run.jobs[0]
    assert job.reason is not None
    assert (run.state, job.verdict, job.reason.code) == ("finished", "cannot_show", "point_not_seen")


def test_a_passage_check_that_timed_out_is_made_once_more(stage: Stage) -> None:
    run_id, first = about_to_say_no(stage)
    stage.say(result(first, node="n1", outcome=Outcome.TIMED_OUT, observation=Observation()))
    (second,) = stage.dispatch()
    seen = FINE.model_copy(update={"passage": [PassedPoint(line=2, state="passed")]})
    stage.say(result(second, node="n1", outcome=Outcome.COMPLETED, observation=seen))
    run = stage.run(run_id)
    assert (run.state, run.verdict) == ("finished", "not_reproduced")
    assert [attempt.kind for attempt in run.jobs[0].attempts] == [*["repeat"] * 2, *["passage"] * 2]


def test_a_passage_check_that_ends_otherwise_asks_for_more_repeats(stage: Stage) -> None:
    run_id, check = about_to_say_no(stage, repeats=None)
    failed = Observation(exit_status=1, exception=ExceptionFacts(type="ValueError", message="no number"))
    stage.say(result(check, node="n1", outcome=Outcome.RAISED, observation=failed))
    (more, *_others) = stage.dispatch()
    assert not more.passage
    stage.say(result(more, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    kinds = [attempt.kind for attempt in stage.run(run_id).jobs[0].attempts]
    assert (kinds.count("repeat"), kinds.count("passage")) == (20, 1)


def corrected(stage: Stage, **settings: int) -> str:
    """A run that was cleared of another claim, and whose claim was corrected then."""
    stage.node("n1", slots=4)
    run = stage.submit(SCRIPT, repeats=2, claim="It raises TypeError: no text").document
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    assert (stage.run(run.id).state, stage.run(run.id).verdict) == ("finished", "not_reproduced")
    stage.die("n1")
    changed = stage.settings.model_copy(update=settings)
    with stage.session() as session:
        correct_claim(session, run.report.id, CLAIM, reason="As shown.", who="submitter", settings=changed)
    return run.id


def test_a_corrected_claim_gets_its_passage_check_first(stage: Stage) -> None:
    run_id = corrected(stage)
    assert (stage.run(run_id).state, stage.run(run_id).verdict) == ("running", None)
    stage.beat("n1")
    (check,) = stage.dispatch()
    assert [point.span[0] for point in check.passage] == [2]
    seen = FINE.model_copy(update={"passage": [PassedPoint(line=2, state="passed")]})
    stage.say(result(check, node="n1", outcome=Outcome.COMPLETED, observation=seen))
    job = stage.run(run_id).jobs[0]
    assert (stage.run(run_id).state, job.verdict) == ("finished", "not_reproduced")
    assert job.reason is not None
    assert job.reason.code == "point_passed"


def test_a_corrected_claim_that_no_node_can_check_is_not_cleared(stage: Stage) -> None:
    run = stage.run(corrected(stage, node_absence_seconds=1))
    assert (run.state, run.jobs[0].verdict) == ("finished", "cannot_show")
    assert run.jobs[0].reason is not None
    assert run.jobs[0].reason.code == "point_not_seen"
