"""The worker and the beat as processes on a real broker, killed in the middle of their work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import Celery
from celery.exceptions import Reject
from sqlalchemy.orm import Session
from stage import TOOLCHAIN, Stage, result

from app.storage.broker import UNACKED, make_celery
from app.storage.queries.runs import lock_run
from worker.contract import Attempt, FromNode, Hello, Level, Started, ToolchainFacts
from worker.contract.broker.url import celery_url
from worker.contract.names import QUEUE_RECORDER, TASK_FROM_NODE, node_queue

pytestmark = pytest.mark.service


class Processes:
    """Starts the processes, and ends those that it started."""

    def __init__(self, stage: Stage, home: str) -> None:
        self.stage = stage
        self.environment = {
            **os.environ,
            "SAMEHERE_DATABASE_URL": stage.settings.reveal_database_url() or "",
            "SAMEHERE_BROKER_URL": stage.settings.reveal_broker_url() or "",
            "SAMEHERE_LEASE_SECONDS": str(stage.settings.lease_seconds),
            "SAMEHERE_SWEEP_SECONDS": "1",
            "SAMEHERE_HOME": home,
        }
        self.home = home
        self.running: list[subprocess.Popen[bytes]] = []
        self.node = Celery(
            "node", broker=celery_url(stage.settings.reveal_broker_url() or ""), set_as_current=False
        )

    def start(self, name: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.tasks", name], env=self.environment, cwd=self.home
        )
        self.running.append(process)
        return process

    def say(self, message: FromNode) -> None:
        self.node.send_task(TASK_FROM_NODE, args=[message.model_dump(mode="json")], queue=QUEUE_RECORDER)

    def hello(self) -> None:
        facts = ToolchainFacts(name=TOOLCHAIN, state="ready", torch="2.13.0")
        self.stage.beat("n1")
        self.say(Hello(node="n1", instance="one", slots=4, level=Level.NAMESPACES_CGROUP, toolchains=[facts]))

    def next_attempt(self) -> Attempt:
        found: list[Attempt] = []
        wait_for(lambda: bool(found.extend(self.stage.deliveries()) or found))
        return found[0]

    def end(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self.node.close()


def wait_for(condition: Callable[[], bool], *, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def catches_term(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has started completely, so that it can end in order."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.fixture
def processes(stage: Stage, tmp_path: object) -> Iterator[Processes]:
    processes = Processes(stage, str(tmp_path))
    yield processes
    processes.end()


def known(stage: Stage) -> bool:
    from app.runs.rows.nodes import list_nodes

    with stage.session() as session:
        return [node.state for node in list_nodes(session, stage.broker)] == ["ready"]


def test_a_run_ends_although_the_recorder_is_killed_with_a_result_in_hand(
    stage: Stage, processes: Processes
) -> None:
    worker = processes.start("worker")
    processes.hello()
    wait_for(lambda: known(stage))
    run_id = stage.submit(repeats=1).document.id
    attempt = processes.next_attempt()
    session: Session = stage.factory()
    lock_run(session, run_id)
    processes.say(result(attempt, node="n1"))
    wait_for(lambda: stage.broker.recorder_backlog() >= 1 and stage.queue_length(QUEUE_RECORDER) == 0)
    worker.kill()
    worker.wait(10)
    session.rollback()
    session.close()
    assert stage.run(run_id).state == "running"
    # The message is not recorded and not lost: it comes back after the visibility timeout.
    processes.start("worker")
    wait_for(lambda: stage.run(run_id).state == "finished")
    assert [(row.state, row.lease_no) for row in stage.attempts(run_id)] == [("recorded", 1)]
    wait_for(lambda: stage.broker.recorder_backlog() == 0)


def test_beat_finds_what_a_lost_wake_up_left_behind(stage: Stage, processes: Processes) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    stage.broker.redis.delete("dispatcher")
    processes.start("worker")
    processes.start("beat")
    attempt = processes.next_attempt()
    processes.say(result(attempt, node="n1"))
    wait_for(lambda: stage.run(run_id).state == "finished")


def test_both_end_in_order_when_told_to(stage: Stage, processes: Processes) -> None:
    worker, beat = processes.start("worker"), processes.start("beat")
    stage.node("n1")
    stage.submit(repeats=1)
    processes.next_attempt()
    wait_for(lambda: catches_term(worker) and catches_term(beat))
    worker.terminate()
    beat.terminate()
    assert worker.wait(20) == 0
    assert beat.wait(20) == 0
    assert list(Path(processes.home).iterdir()) == []


def test_only_our_own_tasks_can_be_named(stage: Stage) -> None:
    from app.tasks.celery_app import build

    service = build(stage.settings)
    assert set(service.celery.tasks) == {
        *(
            "app.from_node",
            "app.dispatch",
            "app.recover",
            "app.rerun",
            "app.canary",
            "app.webhooks",
            "app.github",
            "app.alive",
        )
    }
    assert service.celery.conf.accept_content == ["json"]
    assert not service.celery.conf.worker_enable_remote_control
    service.engine.dispose()
    service.broker.close()


def test_a_message_for_a_node_is_json_with_an_expiry(stage: Stage) -> None:
    stage.node("n1")
    stage.submit(repeats=1)
    from app.runs.lifecycle.dispatch import dispatch

    with stage.session() as session:
        dispatch(session, stage.broker, settings=stage.settings)
    raw = json.loads(stage.broker.redis.lindex(node_queue("n1"), 0))
    assert raw["content-type"] == "application/json"
    assert raw["headers"]["task"] == "worker.attempt"
    assert raw["headers"]["expires"] is not None


def test_what_a_killed_recorder_had_taken_is_there_at_once(stage: Stage) -> None:
    """It had waited for the visibility timeout, and the places of these attempts looked taken."""
    recorder = make_celery(stage.settings)
    for number in range(3):
        recorder.send_task(TASK_FROM_NODE, args=[{"number": number}], queue=QUEUE_RECORDER)
    connection = recorder.connection_for_read()
    queue = connection.SimpleQueue(QUEUE_RECORDER)
    taken = [queue.get(timeout=60) for _ in range(2)]
    assert (len(taken), stage.broker.redis.llen(QUEUE_RECORDER)) == (2, 1)
    # It dies here: it acknowledges nothing, and closes nothing.
    assert stage.broker.restore_messages() == 2
    assert stage.broker.redis.llen(QUEUE_RECORDER) == 3
    assert stage.broker.redis.hlen(UNACKED) == 0
    assert stage.broker.restore_messages() == 0
    connection.close()
    recorder.close()


def test_the_messages_of_one_run_hold_up_no_others(stage: Stage) -> None:
    """A corrected claim holds the runs of its report until all are judged again, which may take minutes."""
    from app.tasks.celery_app import _record, build

    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    (attempt,) = stage.dispatch()
    service = build(stage.settings)
    message = Started(
        node="n1", instance="one", attempt_id=attempt.attempt_id, lease_no=attempt.lease_no
    ).model_dump(mode="json")
    try:
        with stage.session() as session:
            lock_run(session, run_id)
            before = time.monotonic()
            with pytest.raises(Reject) as caught:
                _record(service, message, sender=None)
            # Nor does a round that looks for attempts of nodes that are gone.
            stage.let_leases_end()
            stage.recover()
            assert time.monotonic() - before < 5
        assert caught.value.requeue
        _record(service, message, sender=None)
    finally:
        service.engine.dispose()
        service.broker.close()
    assert [row.state for row in stage.attempts(run_id)] == ["running"]
