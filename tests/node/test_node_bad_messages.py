"""A bad message in a node's queue costs only itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_messages import bad_messages, envelope
from broker_service import NODE, Service, StartNode

from worker.contract.names import TASK_ATTEMPT, node_queue


@pytest.mark.sandbox
def test_no_message_ends_a_node(
    service: Service, start_node: StartNode, toolchain: str, tmp_path: Path
) -> None:
    unreadable = [
        {"type": "attempt"},
        {"attempt_id": "a" * 500, "script": "", "toolchain": "t"},
        7,
        None,
    ]
    bad = [
        *bad_messages(TASK_ATTEMPT).values(),
        *(json.dumps(envelope(TASK_ATTEMPT, json.dumps([[one], {}, {}]))).encode() for one in unreadable),
    ]
    for message in bad:
        service.client.lpush(node_queue(NODE), message)
    node = start_node(SAMEHERE_LOG_REPEATS="1000")
    service.give("good", "print('here')", toolchain)
    assert service.hear("result")["observation"]["stdout"] == "here\n"
    assert node.poll() is None
    dropped = [
        line
        for line in (tmp_path / "node.log").read_text().splitlines()
        if "message_dropped" in line or "attempt_unreadable" in line
    ]
    assert len(dropped) == len(bad)
    assert "Traceback" not in (tmp_path / "node.log").read_text()
