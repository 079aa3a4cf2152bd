"""A preview is shown at once, runs before the queue, and does not change the verdict."""

from __future__ import annotations

import pytest
from stage import Stage, result

from app.judging.verdict.attempts_needed import MIXED, MIXED_COLD
from app.judging.verdict.rates import rate_interval
from app.runs.rows.events import events_after
from worker.contract import Attempt, AttemptKind, Observation, Outcome, Reason, Start

pytestmark = pytest.mark.service
OTHER = "raise RuntimeError('boom')  # other\n"


@pytest.fixture
def shown(stage: Stage) -> Stage:
    stage.node("n1", slots=1, previews=1)
    return stage


def kinds(stage: Stage, run_id: str) -> list[tuple[str, str, str]]:
    return [(row.kind, row.start, row.state) for row in stage.attempts(run_id)]


def declined(attempt: Attempt) -> object:
    """The message of a node about a preview that could not start warm."""
    reason = Reason(code="no_torch_import")
    return result(
        attempt,
        node="n1",
        kind=AttemptKind.PREVIEW,
        outcome=Outcome.SETUP_FAILED,
        reason=reason,
        start_reason=reason,
    )


def test_it_comes_first_and_does_not_count(shown: Stage) -> None:
    run_id = shown.submit(repeats=2).document.id
    first, *others = shown.dispatch()
    assert (first.kind, first.start) == (AttemptKind.PREVIEW, Start.WARM)
    assert [(one.kind, one.start) for one in others] == [(AttemptKind.REPEAT, Start.COLD)] * 2
    shown.say(result(first, node="n1", kind=AttemptKind.PREVIEW, start=Start.WARM))
    interim = shown.run(run_id)
    assert [(attempt.kind, attempt.start, attempt.outcome) for attempt in interim.jobs[0].attempts][:1] == [
        ("preview", "warm", "raised")
    ]
    assert (interim.verdict, interim.jobs[0].verdict, interim.jobs[0].of) == (None, None, 0)
    for attempt in others:
        shown.say(result(attempt, node="n1"))
    run = shown.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].matched, run.jobs[0].of) == ("finished", "reproduced", 2, 2)
    assert [attempt.kind for attempt in run.jobs[0].attempts].count("preview") == 1


def test_one_that_could_not_start_warm_is_as_if_it_had_not_been_asked_for(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    preview, repeat = shown.dispatch()
    shown.say(declined(preview))
    assert kinds(shown, run_id) == [("repeat", "cold", "leased")]
    with shown.session() as session:
        assert events_after(session, run_id)[-1].kind == "attempt.withdrawn"
    # The second message is about an attempt that no longer exists.
    shown.say(declined(preview))
    shown.say(result(repeat, node="n1"))
    assert (shown.run(run_id).state, shown.run(run_id).verdict) == ("finished", "reproduced")


def test_a_cold_one_is_not_shown_whatever_a_node_says(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    preview, repeat = shown.dispatch()
    shown.say(result(preview, node="n1", kind=AttemptKind.PREVIEW, start=Start.COLD))
    # A counted attempt was requested with a cold start, whatever the node says.
    shown.say(result(repeat, node="n1", start=Start.WARM))
    assert kinds(shown, run_id) == [("repeat", "cold", "recorded")]
    assert shown.run(run_id).verdict == "reproduced"


def test_what_it_shows_is_no_evidence(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    first, second = shown.dispatch()
    shown.say(result(first, node="n1", kind=AttemptKind.PREVIEW, start=Start.WARM))
    shown.say(result(second, node="n1", outcome=Outcome.SETUP_FAILED))
    while pending := shown.dispatch():
        for attempt in pending:
            shown.say(result(attempt, node="n1", outcome=Outcome.SETUP_FAILED))
    run = shown.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].of) == ("finished", "no_result", 0)


def test_its_environment_starts_no_job_again(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    preview, repeat = shown.dispatch()
    shown.say(result(repeat, node="n1"))
    shown.say(result(preview, node="n1", kind=AttemptKind.PREVIEW, start=Start.WARM, cpu="another"))
    run = shown.run(run_id)
    assert (run.state, run.jobs[0].of, shown.jobs(run_id)[0].generation) == ("finished", 1, 1)


def test_one_that_a_node_holds_is_waited_for(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    preview, repeat = shown.dispatch()
    shown.say(result(repeat, node="n1"))
    # The preview is on a node. The job waits until it ends.
    assert shown.run(run_id).state != "finished"
    shown.say(declined(preview))
    assert (shown.run(run_id).state, shown.run(run_id).verdict) == ("finished", "reproduced")


def test_it_does_not_wait_for_the_repeats_of_others(shown: Stage) -> None:
    shown.submit(repeats=5)
    first, *_ = shown.dispatch()
    shown.say(declined(first))
    # All slots are taken. The repeats of the others wait; previews wait only for each other.
    late = [shown.submit(f"{OTHER}# {number}\n", repeats=5).document.id for number in range(3)]
    given = shown.dispatch()
    assert [one.kind for one in given] == [AttemptKind.PREVIEW] * 2
    assert {job.node for run_id in late for job in shown.jobs(run_id)} == {None}
    shown.say(declined(given[0]))
    assert [one.kind for one in shown.dispatch()] == [AttemptKind.PREVIEW]


def test_it_takes_no_slot(shown: Stage) -> None:
    shown.submit(repeats=5)
    kinds = [one.kind for one in shown.dispatch()]
    assert kinds == [AttemptKind.PREVIEW, AttemptKind.REPEAT, AttemptKind.REPEAT]


def test_it_may_take_a_moment_and_no_longer(shown: Stage) -> None:
    shown.submit(repeats=1)
    preview, repeat = shown.dispatch()
    assert preview.limits.wall_seconds == shown.settings.preview_seconds < shown.settings.wall_seconds
    assert repeat.limits == shown.settings.limits


def test_there_is_none_where_no_node_takes_it(stage: Stage) -> None:
    stage.node("n1", slots=1)
    run_id = stage.submit(repeats=1).document.id
    assert kinds(stage, run_id) == [("repeat", "cold", "queued")]


def test_nor_where_it_is_switched_off(shown: Stage) -> None:
    shown.settings = shown.settings.model_copy(update={"preview": False})
    run_id = shown.submit(repeats=1).document.id
    assert kinds(shown, run_id) == [("repeat", "cold", "queued")]


def test_one_that_would_come_after_the_answer_is_withdrawn(shown: Stage) -> None:
    run_id = shown.submit(repeats=2).document.id
    # The node comes back without warm starts before anything was dispatched.
    shown.node("n1", slots=1, instance="two")
    first, second = shown.dispatch()
    assert [first.kind, second.kind] == [AttemptKind.REPEAT] * 2
    shown.say(result(first, node="n1", instance="two"))
    assert kinds(shown, run_id) == [("repeat", "cold", "recorded"), ("repeat", "cold", "leased")]


def test_a_lease_that_ends_takes_it_along(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    shown.dispatch()
    shown.let_leases_end()
    shown.die("n1")
    shown.recover()
    assert kinds(shown, run_id) == [("repeat", "cold", "queued")]


def test_the_further_repeats_of_a_mixed_job_may_start_warm(stage: Stage) -> None:
    stage.node("n1", slots=30)
    run_id = stage.submit(repeats=None).document.id
    starts: list[Start] = []
    while given := stage.dispatch():
        for attempt in given:
            starts.append(attempt.start)
            # Every other attempt shows the bug, not the first: its repeats would start warm at once.
            # A node that can't start warm starts cold and reports it.
            shows = (
                {}
                if len(starts) % 2 == 0
                else {
                    "outcome": Outcome.COMPLETED,
                    "observation": Observation(exit_status=0, stdout="fine\n"),
                }
            )
            stage.say(
                result(attempt, node="n1", start=Start.COLD if len(starts) == 20 else attempt.start, **shows)
            )
    assert starts == [Start.COLD] * MIXED_COLD + [Start.WARM] * (MIXED - MIXED_COLD)
    job = stage.run(run_id).jobs[0]
    assert (job.verdict, job.matched, job.of) == ("flaky", 10, 20)
    assert [attempt.start for attempt in job.attempts] == [*starts[:-1], Start.COLD]
    assert job.rate_interval == rate_interval(6, 11)
