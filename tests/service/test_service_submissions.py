"""Submissions: once for each key, all or nothing, and stored while the broker is down."""

from __future__ import annotations

import pytest
from stage import CLAIM, SCRIPT, Stage, together

from app.errors import IdempotencyError, UnavailableError
from app.runs.lifecycle.dispatch import dispatch
from app.runs.lifecycle.recover import recover
from app.runs.submission.submit import Submission, submit
from app.settings import ServiceSettings
from app.storage.broker import QUEUE_DISPATCHER, Broker
from app.storage.models import RunRow
from app.storage.session import make_engine, session_factory
from worker.contract.names import node_queue


def test_the_same_key_at_the_same_time_makes_one_run(stage: Stage) -> None:
    stage.node("n1")
    answers = together(*[lambda: stage.submit(key="k")] * 6)
    assert len({answer.document.id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert stage.count(RunRow) == 1
    assert stage.submit(key="k").document.id == answers[0].document.id


def test_the_same_key_with_another_body_is_refused(stage: Stage) -> None:
    stage.submit(key="k")
    with pytest.raises(IdempotencyError):
        stage.submit("raise RuntimeError('other')\n", key="k")
    assert stage.count(RunRow) == 1


def test_a_refused_submission_leaves_its_key_free(stage: Stage) -> None:
    with stage.factory() as session:
        submit(session, Submission(script=SCRIPT, claim=CLAIM, idempotency_key="k"), settings=stage.settings)
        session.rollback()
    assert stage.submit(key="k").created


def test_a_rollback_sends_nothing(stage: Stage) -> None:
    stage.node("n1")
    stage.submit()
    stage.broker.redis.delete(QUEUE_DISPATCHER, "samehere:dispatch-wanted")
    with stage.factory() as session:
        submit(session, Submission(script=SCRIPT, claim=CLAIM), settings=stage.settings)
        assert dispatch(session, stage.broker, settings=stage.settings) > 0
        session.rollback()
        session.commit()
    assert stage.queue_length(QUEUE_DISPATCHER) == 0
    assert stage.queue_length(node_queue("n1")) == 0
    assert stage.count(RunRow) == 1


def test_a_submission_is_kept_while_the_broker_is_down(stage: Stage) -> None:
    stage.node("n1")
    broken = Broker(
        ServiceSettings(
            database_url=stage.settings.database_url, broker_url="redis+socket:///nonexistent/socket"
        )
    )
    engine = make_engine(stage.settings)
    factory = session_factory(engine, broken)
    with factory.begin() as session:
        run_id = submit(
            session, Submission(script=SCRIPT, claim=CLAIM, repeats=3), settings=stage.settings
        ).document.id
    with pytest.raises(UnavailableError), factory.begin() as session:
        dispatch(session, broken, settings=stage.settings)
    with pytest.raises(UnavailableError):
        recover(factory, broken, settings=stage.settings)
    engine.dispose()
    assert [row.state for row in stage.attempts(run_id)] == ["queued"] * 3
    assert len(stage.dispatch()) == 3


def test_wake_ups_are_one_until_a_round_begins(stage: Stage) -> None:
    stage.node("n1")
    stage.submit()
    stage.submit()
    assert stage.queue_length(QUEUE_DISPATCHER) == 1
    stage.broker.begin_dispatch()
    stage.submit()
    assert stage.queue_length(QUEUE_DISPATCHER) == 2
