"""Nodes that die, and messages that come late, twice or at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select
from stage import Stage, result, together

from app.judging.judgement import Verdict
from app.runs.lifecycle.dispatch import dispatch
from app.runs.lifecycle.record import receive
from app.runs.rows.events import events_after
from app.storage import node_keys
from app.storage.models import AttemptRow, EventRow, IdempotencyKeyRow, NodeRow
from worker.contract import Heartbeat, Outcome
from worker.contract.names import QUEUE_RECORDER, results_queue


def test_two_dispatchers_give_no_attempt_twice(stage: Stage) -> None:
    stage.node("n1", slots=20)
    stage.node("n2", slots=20)
    runs = [
        stage.submit(f"raise RuntimeError('boom')  # {number}\n", repeats=4).document.id
        for number in range(10)
    ]

    def round_() -> int:
        with stage.session() as session:
            return dispatch(session, stage.broker, settings=stage.settings)

    leased = together(*[round_] * 4)
    while (more := round_()) > 0:
        leased.append(more)
    attempts = stage.deliveries()
    assert sum(leased) == len(attempts) == 40
    assert len({attempt.attempt_id for attempt in attempts}) == 40
    for run_id in runs:
        assert {row.lease_no for row in stage.attempts(run_id)} == {1}


def test_a_second_dispatcher_does_not_overfill_a_node(stage: Stage) -> None:
    stage.node("n1", slots=2)
    for number in range(6):
        stage.submit(f"raise RuntimeError('boom')  # {number}\n", repeats=4)

    def round_() -> int:
        with stage.session() as session:
            return dispatch(session, stage.broker, settings=stage.settings)

    with stage.factory() as first, ThreadPoolExecutor(1) as pool:
        leased = dispatch(first, stage.broker, settings=stage.settings)
        second = pool.submit(round_)
        time.sleep(0.3)
        first.commit()
        assert leased + second.result(20) == 3


def test_a_result_twice_is_one(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    together(*[lambda: stage.say(result(attempt, node="n1"))] * 5)
    stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED))
    [row] = stage.attempts(run_id)
    assert (row.state, row.outcome) == ("recorded", Outcome.RAISED)
    with stage.session() as session:
        assert [event.kind for event in events_after(session, run_id)].count("attempt.recorded") == 1


def test_a_late_result_of_an_older_lease_is_refused(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [first] = stage.dispatch()
    stage.let_leases_end()
    stage.recover()
    [second] = stage.dispatch()
    assert (second.attempt_id, second.lease_no) == (first.attempt_id, 2)
    stage.say(result(first, node="n1", outcome=Outcome.COMPLETED))
    assert stage.attempts(run_id)[0].state == "leased"
    stage.say(result(second, node="n1"))
    assert stage.attempts(run_id)[0].outcome is Outcome.RAISED


def test_a_result_between_two_leases_still_counts(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.start(attempt, node="n1")
    stage.node("n1", instance="two")
    assert stage.attempts(run_id)[0].state == "queued"
    stage.say(result(attempt, node="n1", instance="one"))
    assert stage.run(run_id).state == "finished"
    assert stage.dispatch() == []


@pytest.mark.parametrize("lie", [{"node": "n2"}, {"lease_no": 2}, {"lease_no": 0}, {"attempt_id": "0" * 26}])
def test_a_node_cannot_answer_for_another(stage: Stage, lie: dict[str, Any]) -> None:
    stage.node("n1")
    stage.node("n2", toolchain="torch-0.0-cpu")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.say(result(attempt, node="n1").model_copy(update=lie))
    assert stage.attempts(run_id)[0].state == "leased"


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": "result"},
        {"type": "run_this", "code": "1"},
        "text",
        5,
        None,
        {"type": "hello", "node": "../x", "instance": "i", "slots": 1},
    ],
)
def test_nonsense_is_dropped(stage: Stage, message: Any) -> None:
    with stage.session() as session:
        receive(session, message, settings=stage.settings)
        assert session.scalars(select(NodeRow)).all() == []


def test_a_result_over_the_cap_is_dropped(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    message = result(attempt, node="n1").model_dump(mode="json")
    message["observation"]["stdout"] = "x" * (stage.settings.result_bytes + 1)
    stage.say(message)
    assert stage.attempts(run_id)[0].state == "leased"


def test_a_heartbeat_keeps_the_lease_of_what_runs(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.start(attempt, node="n1")
    for _ in range(3):
        stage.let_leases_end()
        stage.beat("n1", running=[attempt.attempt_id])
        stage.recover()
    row = stage.attempts(run_id)[0]
    assert (row.state, row.lease_no) == ("running", 1)


def test_nobody_is_dead_before_results_are_drained(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.start(attempt, node="n1")
    stage.let_leases_end(seconds=60)
    stage.broker.redis.lpush(QUEUE_RECORDER, "{}")
    stage.recover()
    assert stage.attempts(run_id)[0].state == "running"
    stage.broker.redis.delete(QUEUE_RECORDER)
    stage.recover(steady=False)
    assert stage.attempts(run_id)[0].state == "queued"


def test_a_node_that_keeps_a_message_in_its_list_holds_up_no_other_node(stage: Stage) -> None:
    """Nor does it hold its own attempts forever."""

    def states() -> dict[str | None, str]:
        return {row.node: row.state for run in (first, second) for row in stage.attempts(run)}

    for node in ("greedy", "other"):
        node_keys.create(stage.broker.redis, node)
    try:
        stage.node("greedy", slots=1)
        first = stage.submit(repeats=1).document.id
        stage.dispatch()
        stage.node("other", slots=1)
        second = stage.submit(repeats=2).document.id
        stage.dispatch()
        assert states() == {"greedy": "leased", "other": "leased"}
        stage.let_leases_end(seconds=60)
        stage.broker.redis.lpush(results_queue("greedy"), "{}")
        stage.recover()
        assert states() == {"greedy": "leased", "other": "queued"}
        stage.let_leases_end(seconds=stage.settings.backlog_seconds)
        stage.recover()
        assert states() == {"greedy": "queued", "other": "queued"}
    finally:
        for node in ("greedy", "other"):
            node_keys.revoke(stage.broker.redis, node)


def test_a_backlog_after_the_recorder_was_away_holds_leases_however_late_they_are(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    stage.dispatch()
    stage.let_leases_end()
    stage.broker.redis.lpush(QUEUE_RECORDER, "{}")
    stage.broker.steady_seconds = lambda: stage.settings.lease_seconds + 1.0  # type: ignore[method-assign]
    stage.recover(steady=False)
    assert stage.attempts(run_id)[0].state == "leased"


def test_nobody_is_dead_before_the_recorder_has_been_up_for_a_lease(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.start(attempt, node="n1")
    stage.let_leases_end()
    stage.broker.recorder_started()
    stage.recover(steady=False)
    assert stage.attempts(run_id)[0].state == "running"


def test_after_three_leases_in_which_it_ran_an_attempt_is_lost(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=2).document.id
    good, bad = stage.dispatch()
    stage.say(result(good, node="n1"))
    for instance in ("two", "three", "four"):
        stage.start(bad, node="n1")
        stage.node("n1", instance=instance)
        for attempt in stage.dispatch():
            bad = attempt
    assert [row.state for row in stage.attempts(run_id)] == ["recorded", "lost"]
    document = stage.run(run_id)
    assert document.state == "finished"
    assert document.verdict is Verdict.REPRODUCED
    assert [(job.matched, job.of) for job in document.jobs] == [(1, 1)]


def test_waiting_in_a_nodes_queue_is_not_held_against_an_attempt(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    for _ in range(5):
        [attempt] = stage.dispatch()
        stage.let_leases_end()
        stage.recover()
    assert attempt.lease_no == 5
    assert stage.attempts(run_id)[0].state == "queued"


def test_a_job_of_a_dead_node_starts_again_elsewhere_and_ends_in_a_verdict(stage: Stage) -> None:
    stage.node("n1", slots=2)
    run_id = stage.submit(repeats=4).document.id
    first = stage.dispatch()
    assert len(first) == 3
    stage.say(result(first[0], node="n1", outcome=Outcome.COMPLETED, cpu="old"))
    stage.start(first[1], node="n1")
    stage.node("n2", slots=8)
    stage.die("n1")
    stage.let_leases_end()
    stage.recover()
    [job] = stage.jobs(run_id)
    assert (job.generation, job.node) == (2, None)
    # A result of the dead node is no evidence any more: its job has moved on.
    stage.say(result(first[1], node="n1", outcome=Outcome.COMPLETED, cpu="old"))
    assert [row.state for row in stage.attempts(run_id)].count("recorded") == 1
    again = stage.dispatch()
    assert {row.node for row in stage.attempts(run_id) if row.state == "leased"} == {"n2"}
    for attempt in again:
        stage.say(result(attempt, node="n2", cpu="new"))
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n2", cpu="new"))
    document = stage.run(run_id)
    assert document.state == "finished"
    assert document.verdict is Verdict.REPRODUCED
    assert [(job.matched, job.of) for job in document.jobs] == [(4, 4)]
    assert [attempt.counted for attempt in document.jobs[0].attempts].count(False) == 1
    # The dead node comes back with its result, too late.
    stage.say(result(first[1], node="n1", outcome=Outcome.COMPLETED, cpu="old"))
    assert stage.run(run_id).verdict is Verdict.REPRODUCED


def test_another_environment_starts_the_job_again(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=3).document.id
    one, two, three = stage.dispatch()
    stage.say(result(one, node="n1", outcome=Outcome.COMPLETED, cpu="before the update"))
    stage.say(result(two, node="n1", cpu="after the update"))
    stage.say(result(three, node="n1", cpu="after the update"))
    [four] = stage.dispatch()
    stage.say(result(four, node="n1", cpu="after the update"))
    document = stage.run(run_id)
    assert document.verdict is Verdict.REPRODUCED
    assert [(job.matched, job.of) for job in document.jobs] == [(3, 3)]
    assert [attempt.counted for attempt in document.jobs[0].attempts] == [False, True, True, True]


def test_an_environment_that_changes_every_time_still_ends(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=2).document.id
    for number in range(100):
        attempts = stage.dispatch()
        if not attempts:
            break
        for place, attempt in enumerate(attempts):
            stage.say(result(attempt, node="n1", cpu=f"{number}.{place}"))
    assert stage.run(run_id).state == "finished"


def test_attempts_for_which_no_node_comes_back_are_lost_in_the_end(stage: Stage) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=2).document.id
    good, _bad = stage.dispatch()
    stage.say(result(good, node="n1"))
    stage.die("n1")
    stage.let_leases_end()
    stage.recover()
    assert stage.run(run_id).state == "running"
    stage.let_wait()
    stage.recover()
    document = stage.run(run_id)
    assert document.state == "finished"
    assert document.verdict is Verdict.REPRODUCED


def test_a_flag_that_was_lost_is_set_again(stage: Stage) -> None:
    from app.runs.lifecycle.cancel import cancel_run

    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    stage.start(attempt, node="n1")
    with stage.session() as session:
        cancel_run(session, run_id)
    stage.broker.redis.delete("samehere:cancel:n1")
    stage.recover()
    assert stage.broker.redis.smembers("samehere:cancel:n1") == {attempt.attempt_id.encode()}


def test_events_of_many_writers_are_numbered_without_gaps(stage: Stage) -> None:
    stage.node("n1", slots=30)
    run_id = stage.submit(repeats=20).document.id
    attempts = stage.dispatch()
    assert len(attempts) == 20
    together(*[lambda attempt=attempt: stage.say(result(attempt, node="n1")) for attempt in attempts[:8]])
    together(*[lambda attempt=attempt: stage.say(result(attempt, node="n1")) for attempt in attempts[8:]])
    assert stage.run(run_id).state == "finished"
    with stage.session() as session:
        numbers = list(
            session.scalars(
                select(EventRow.number).where(EventRow.run_id == run_id).order_by(EventRow.number)
            )
        )
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_lying_heartbeat_is_no_sign_of_life(stage: Stage) -> None:
    stage.node("n1")
    stage.broker.redis.set("samehere:heartbeat:n1", Heartbeat(node="n2", instance="one").model_dump_json())
    assert stage.broker.heartbeats(["n1"]) == {}
    stage.broker.redis.set("samehere:heartbeat:n1", b"\xff{}")
    assert stage.broker.heartbeats(["n1"]) == {}
    stage.submit()
    assert stage.dispatch() == []


def test_nothing_is_left_over(stage: Stage) -> None:
    """Every attempt of a finished run is in a state that never changes."""
    stage.node("n1")
    run_id = stage.submit(repeats=None).document.id
    for _ in range(30):
        for attempt in stage.dispatch():
            stage.say(result(attempt, node="n1"))
    assert stage.run(run_id).state == "finished"
    with stage.session() as session:
        open_ = session.scalars(
            select(AttemptRow).where(AttemptRow.state.in_(["queued", "leased", "running"]))
        ).all()
        assert open_ == []
        assert session.scalars(select(IdempotencyKeyRow)).all() == []
