"""Submit, dispatch, record and judge, with results made by hand."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from stage import CLAIM, SCRIPT, Stage, result

from app.errors import ConflictError, InputError, NotFoundError, TooLargeError
from app.judging.judgement import Verdict
from app.judging.verdict.frequency import LEAST_FOR_SOMETIMES
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lookup.metrics import snapshot
from app.runs.lookup.reports import list_reports, report_details
from app.runs.lookup.runs import attempt_details
from app.runs.rows.events import events_after
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.storage.broker import QUEUE_DISPATCHER
from app.storage.models import AttemptRow, EnvironmentRow, JobRow, RunRow, ScriptRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Device, Draining, Observation, Outcome
from worker.contract.names import cancel_key


def test_a_report_goes_all_the_way_to_its_verdict(stage: Stage) -> None:
    stage.node("n1")
    submitted = stage.submit()
    assert submitted.created
    assert submitted.document.state == "queued"
    run_id = submitted.document.id
    attempts = stage.dispatch()
    assert len(attempts) == 3
    assert {attempt.script for attempt in attempts} == {SCRIPT}
    assert stage.run(run_id).state == "running"
    for attempt in attempts:
        stage.start(attempt, node="n1")
        stage.say(result(attempt, node="n1"))
    document = stage.run(run_id)
    assert document.state == "finished"
    assert document.verdict is Verdict.REPRODUCED
    assert document.seen
    assert [(job.matched, job.of) for job in document.jobs] == [(3, 3)]
    with stage.session() as session:
        assert len(session.scalars(select(EnvironmentRow)).all()) == 1
        events = events_after(session, run_id)
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert events[0].kind == "run.created"
        assert events[-1].kind == "run.finished"
        assert events_after(session, run_id, events[-2].number) == [events[-1]]
        details = attempt_details(session, attempts[0].attempt_id)
        assert details.environment["torch.version"] == "2.13.0"
        assert details.observation is not None
        assert details.observation.stderr == "RuntimeError: boom\n"
        figures = snapshot(session, stage.broker)
        names = ("attempts_enqueued", "attempts_claimed", "attempts_finished", "attempts_lost")
        assert [figures.total(name) for name in names] == [3, 3, 3, 0]
        summary = list_reports(session).items[0]
        assert summary.latest is not None
        assert summary.latest.verdict is Verdict.REPRODUCED


def test_a_node_gets_at_most_its_free_slots_and_one(stage: Stage) -> None:
    stage.node("n1", slots=2)
    stage.submit(repeats=9)
    first = stage.dispatch()
    assert len(first) == 3
    assert stage.dispatch() == []
    stage.say(result(first[0], node="n1"))
    assert len(stage.dispatch()) == 1


def test_runs_take_turns_and_a_job_stays_on_its_node(stage: Stage) -> None:
    stage.node("n1", slots=1)
    stage.node("n2", slots=1)
    first = stage.submit(repeats=5).document.id
    second = stage.submit("raise RuntimeError('boom')  # other\n", repeats=5).document.id
    attempts = stage.dispatch()
    assert len(attempts) == 4
    assert sorted(job.node or "" for job in stage.jobs(first) + stage.jobs(second)) == ["n1", "n2"]
    for run_id in (first, second):
        assert sum(row.state == "leased" for row in stage.attempts(run_id)) == 2


def test_equal_scripts_are_kept_once(stage: Stage) -> None:
    stage.submit()
    stage.submit()
    with stage.session() as session:
        assert len(session.scalars(select(ScriptRow)).all()) == 1
    assert stage.count(RunRow) == 2


def test_a_dry_run_stores_nothing_and_wakes_nobody(stage: Stage) -> None:
    stage.node("n1")
    stage.broker.redis.flushall()
    with stage.session() as session:
        planned = submit(
            session, Submission(script=SCRIPT, claim=CLAIM), settings=stage.settings, dry_run=True
        )
    assert [job.target.device for job in planned.document.jobs] == ["cpu"]
    assert stage.count(RunRow) == 0
    assert stage.queue_length(QUEUE_DISPATCHER) == 0


def test_what_the_reporter_must_supply_is_asked_before_any_node_is_used(stage: Stage) -> None:
    stage.node("n1")
    with stage.session() as session:
        document = submit(session, Submission(report="It crashes.\n"), settings=stage.settings).document
    assert document.state == "finished"
    assert document.verdict is Verdict.NEEDS_INFO
    assert document.ask
    assert stage.run(document.id).verdict is Verdict.NEEDS_INFO
    assert stage.dispatch() == []


def test_a_target_that_no_node_serves_cannot_be_shown(stage: Stage) -> None:
    stage.node("n1")
    with stage.session() as session:
        request = Submission(script=SCRIPT, claim=CLAIM, targets=(Target(device=Device.CUDA),))
        document = submit(session, request, settings=stage.settings).document
    assert document.state == "finished"
    assert document.verdict is Verdict.CANNOT_SHOW
    assert stage.run(document.id).jobs[0].reason is not None
    with stage.session() as session:
        assert events_after(session, document.id)[-1].kind == "run.finished"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Submission(), InputError),
        (Submission(script="x = 1", report="x"), InputError),
        (Submission(script=""), InputError),
        (Submission(script="x = 1\n" * 100_000), TooLargeError),
        (Submission(script="x = 1", preset="no-such-preset"), InputError),
        (Submission(script="x = 1", preset="quick", targets=(Target(),)), InputError),
        (Submission(script="x = 1", repeats=0), InputError),
        (Submission(script="x = 1", repeats=251), InputError),
        (Submission(script="x = 1", source_url="javascript:alert(1)"), InputError),
        (Submission(script="x = 1", idempotency_key=""), InputError),
    ],
)
def test_bad_input_is_refused_and_stores_nothing(
    stage: Stage, request_: Submission, error: type[InputError]
) -> None:
    stage.node("n1")
    with pytest.raises(error), stage.session() as session:
        submit(session, request_, settings=stage.settings)
    assert stage.count(RunRow) == 0


def test_a_report_is_launched_again(stage: Stage) -> None:
    stage.node("n1")
    stage.submit()
    with stage.session() as session:
        report_id = list_reports(session).items[0].id
        again = relaunch(session, report_id, RunRequest(repeats=2), settings=stage.settings)
    with stage.session() as session:
        details = report_details(session, report_id)
    assert details.runs[0].id == again.id
    assert details.text == SCRIPT
    assert details.report.scripts[0].script == SCRIPT
    assert len(stage.dispatch()) == 5


def test_lists_come_in_pages(stage: Stage) -> None:
    ids = [
        stage.submit(f"raise RuntimeError('boom')  # {number} 100%_sure\n").document.report.id
        for number in range(5)
    ]
    with stage.session() as session:
        first = list_reports(session, limit=3)
        second = list_reports(session, limit=3, cursor=first.next_cursor)
        assert [item.id for item in first.items + second.items] == ids[::-1]
        assert second.next_cursor is None
        assert [item.id for item in list_reports(session, query="3 100%_").items] == [ids[3]]
        assert list_reports(session, query="100x").items == ()
        with pytest.raises(InputError):
            list_reports(session, cursor="' or 1=1")


def test_cancelling_stops_what_waits_and_flags_what_runs(stage: Stage) -> None:
    stage.node("n1", slots=1)
    run_id = stage.submit(repeats=4).document.id
    running, waiting = stage.dispatch()
    stage.start(running, node="n1")
    with stage.session() as session:
        cancel_run(session, run_id)
    assert stage.run(run_id).state == "cancelled"
    assert [row.state for row in stage.attempts(run_id)].count("cancelled") == 3
    flagged = {value.decode() for value in stage.broker.redis.smembers(cancel_key("n1"))}
    assert flagged == {running.attempt_id, waiting.attempt_id}
    stage.say(result(running, node="n1", outcome=Outcome.CANCELLED))
    assert {row.state for row in stage.attempts(run_id)} == {"cancelled"}
    assert {value.decode() for value in stage.broker.redis.smembers(cancel_key("n1"))} == {waiting.attempt_id}
    with stage.session() as session:
        cancel_run(session, run_id)
        assert events_after(session, run_id)[-1].kind == "run.cancelled"
    assert stage.dispatch() == []


def test_a_finished_run_cannot_be_cancelled(stage: Stage) -> None:
    run_id = stage.submit().document.id
    with pytest.raises(ConflictError), stage.session() as session:
        cancel_run(session, run_id)
    with pytest.raises(NotFoundError), stage.session() as session:
        cancel_run(session, "0" * 26)


def test_a_draining_node_gives_back_what_it_has_not_started(stage: Stage) -> None:
    stage.node("n1", slots=1)
    run_id = stage.submit(repeats=2).document.id
    running, waiting = stage.dispatch()
    stage.start(running, node="n1")
    stage.say(Draining(node="n1", instance="one"))
    states = {row.id: row.state for row in stage.attempts(run_id)}
    assert states == {running.attempt_id: "running", waiting.attempt_id: "queued"}
    assert stage.dispatch() == []


def test_a_result_without_evidence_three_times_ends_the_job(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=10).document.id
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n1", outcome=Outcome.SETUP_FAILED, observation=Observation()))
    document = stage.run(run_id)
    assert document.state == "finished"
    assert document.verdict is Verdict.NO_RESULT


def test_hostile_output_is_kept_and_shown(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    text = "a\x00b \\u0000 \ufffd </script> \x1b[31m"
    seen = Observation(
        exit_status=0,
        stdout=text,
        stdout_bytes=len(text.encode()),
        stdout_digest="sha256:lie",
    )
    message = result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=seen)
    stage.say(message)
    with stage.session() as session:
        observation = attempt_details(session, attempt.attempt_id).observation
    assert observation is not None
    assert observation.stdout == "a\ufffdb \\u0000 \ufffd </script> \x1b[31m"
    assert observation.stdout_digest != "sha256:lie"
    assert stage.run(run_id).state == "finished"


def test_tables_are_empty_of_attempts_when_nothing_is_claimed_to_run(stage: Stage) -> None:
    document = stage.submit().document
    assert document.state == "finished"
    assert stage.count(AttemptRow) == 0
    assert stage.count(JobRow) == len(document.jobs)


def test_a_claim_that_something_happens_sometimes_gets_enough_attempts(stage: Stage) -> None:
    """A failure in 5 % of the attempts would be seen in 59 of them."""
    stage.node("n1", slots=4)
    run_id = stage.submit("print(1)\n", repeats=None, claim="It sometimes raises ValueError: bad").document.id
    (first,) = stage.dispatch()
    fine = Observation(exit_status=0, stdout="1\n")
    stage.say(result(first, node="n1", outcome=Outcome.COMPLETED, observation=fine))
    assert len(stage.attempts(run_id)) == LEAST_FOR_SOMETIMES
