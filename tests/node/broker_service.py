"""The service's side of a broker, for tests of a node."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery import Celery

from worker.contract.names import QUEUE_RECORDER, TASK_ATTEMPT, TASK_FROM_NODE, heartbeat_key, node_queue
from worker.machine.broker import connect

NODE = "lab-1"
StartNode = Callable[..., subprocess.Popen[bytes]]


class Service:
    """The trusted side's ends of the two queues."""

    def __init__(self, broker_url: str) -> None:
        self.client = connect(broker_url)
        self.celery = Celery("service", broker=broker_url, set_as_current=False)
        self.celery.conf.update(task_ignore_result=True, result_backend=None)

    def give(
        self, attempt_id: str, script: str, toolchain: str, *, expires: float | None = 60, **more: Any
    ) -> None:
        message = {
            "type": "attempt",
            "attempt_id": attempt_id,
            "script": script,
            "toolchain": toolchain,
            **more,
        }
        self.celery.send_task(
            TASK_ATTEMPT, args=[message], queue=node_queue(NODE), expires=expires, ignore_result=True
        )

    def hear(self, kind: str | None = None, *, seconds: float = 60) -> dict[str, Any]:
        """The next message (of a kind) on the recorder's queue.

        A node whose cards have just been checked says hello again: without a kind that is passed over.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.next_message()
            if message and (kind == message["type"] or (kind is None and message["type"] != "hello")):
                return message
        pytest.fail(f"no {kind or 'message'} within {seconds} s")

    def next_message(self) -> dict[str, Any] | None:
        """The next message of any kind; None if none comes for a second."""
        try:
            taken = self.client.brpop([QUEUE_RECORDER], timeout=1)
        except redis.RedisError:
            time.sleep(0.2)
            return None
        if taken is None:
            return None
        envelope = json.loads(taken[1])  # type: ignore[index]
        assert envelope["headers"]["task"] == TASK_FROM_NODE
        assert envelope["content-type"] == "application/json"
        message: dict[str, Any] = json.loads(base64.b64decode(envelope["body"]))[0][0]
        return message

    def close(self) -> None:
        self.client.close()
        self.celery.close()


def heartbeat(service: Service, *, draining: bool, seconds: float = 20) -> dict[str, Any]:
    """The next one that says so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        beat = json.loads(str(service.client.get(heartbeat_key(NODE)) or "{}"))
        if beat.get("draining") is draining:
            return dict(beat)
        time.sleep(0.1)
    pytest.fail(f"no heartbeat with draining={draining} within {seconds} s")
