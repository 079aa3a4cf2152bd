"""A bad message in the recorder's queue, or from a node, costs only itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bad_messages import bad_messages, envelope
from stage import TOOLCHAIN, Stage, result
from test_service_processes import Processes, known, wait_for

from app.storage.broker import UNACKED
from app.storage.models import NodeRow
from worker.contract import Hello, Level
from worker.contract.names import QUEUE_RECORDER, TASK_FROM_NODE


@pytest.mark.service
def test_no_message_ends_the_recorder(stage: Stage, tmp_path: Path) -> None:
    processes = Processes(stage, str(tmp_path))
    hello = Hello(node="evil", instance="one", slots=1, level=Level.NAMESPACES).model_dump(mode="json")
    from_node = [{**hello, "slots": 10**30}, {**hello, "node": "\0"}, 7, None, {"type": "result"}, [[[]]]]
    bad = [
        *bad_messages(TASK_FROM_NODE).values(),
        *(json.dumps(envelope(TASK_FROM_NODE, json.dumps([[one], {}, {}]))).encode() for one in from_node),
    ]
    for message in bad:
        stage.broker.redis.lpush(QUEUE_RECORDER, message)
    # What another recorder left unacknowledged is bad, too.
    stage.broker.redis.hset(UNACKED, "tag", b"garbage")
    stage.broker.redis.zadd(f"{UNACKED}.index", {"tag": 1})
    log = tmp_path / "recorder.log"
    with log.open("wb") as stream:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.tasks", "worker"],
            # A message that is worked on for half a lease comes again. Here the lease outlasts the test:
            # what comes again, comes because it was not acknowledged.
            env={**processes.environment, "SAMEHERE_LOG_REPEATS": "1000", "SAMEHERE_LEASE_SECONDS": "600"},
            cwd=tmp_path,
            stdout=stream,
            stderr=stream,
        )
        processes.running.append(worker)
    try:
        processes.hello()
        wait_for(lambda: known(stage))
        wait_for(lambda: stage.broker.redis.hlen(UNACKED) == 0)
        assert stage.broker.redis.zcard(f"{UNACKED}.index") == 0
        assert stage.broker.recorder_backlog() == 0
        assert worker.poll() is None
        lines = log.read_text().splitlines()
        events = [event for line in lines if (event := json.loads(line)["event"]) != "messages_restored"]
        assert set(events) <= {"message_dropped", "node_message_refused"}, lines
        assert len(events) == len(bad) + 1
    finally:
        processes.end()


@pytest.mark.parametrize("field", ["slots", "previews", "cores"])
def test_an_absurd_hello_costs_only_itself(stage: Stage, field: str) -> None:
    stage.node("honest")
    stage.node("evil")
    with stage.session() as session:
        good = session.get_one(NodeRow, "evil").hello
    stage.say({**good, field: 10**30})
    run_id = stage.submit(repeats=1).document.id
    assert len(stage.dispatch()) == 1
    assert stage.run(run_id).state == "running"


def test_an_absurd_hello_that_is_stored_costs_only_its_node(stage: Stage) -> None:
    """A hello from before the contract had bounds."""
    stage.node("honest")
    stage.node("evil")
    with stage.session() as session:
        row = session.get_one(NodeRow, "evil")
        row.hello = {**row.hello, "slots": 10**30}
    stage.submit(repeats=1)
    assert [attempt.toolchain for attempt in stage.dispatch()] == [TOOLCHAIN]
    assert [row.node for row in stage.attempts(stage.submit(repeats=1).document.id)] == [None]
    from app.runs.rows.nodes import list_nodes

    with stage.session() as session:
        assert [node.name for node in list_nodes(session, stage.broker)] == ["honest"]


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("forged", [{"node": "n2"}, {"node": "n1", "instance": "other"}])
def test_a_result_is_taken_only_from_the_instance_that_started_it(
    stage: Stage, forged: dict[str, Any], *, started: bool
) -> None:
    stage.node("n1")
    run_id = stage.submit(repeats=1).document.id
    (attempt,) = stage.dispatch()
    if started:
        stage.start(attempt, node="n1")
    stage.say(result(attempt, **forged))
    assert [row.state for row in stage.attempts(run_id)] == ["running" if started else "leased"]
    stage.say(result(attempt, node="n1"))
    assert [row.state for row in stage.attempts(run_id)] == ["recorded"]
