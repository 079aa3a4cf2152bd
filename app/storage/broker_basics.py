"""The parts of the broker that beat needs. They import neither Celery nor the messages, to save memory."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import cast

from redis import Redis, RedisError

from app.errors import SetupError
from app.settings import ServiceSettings
from worker.contract.broker.url import explain_refusal
from worker.contract.names import TASK_FROM_NODE

QUEUE_DISPATCHER = "dispatcher"
TASK_DISPATCH = "app.dispatch"
TASK_RECOVER = "app.recover"
TASK_RERUN = "app.rerun"
TASK_CANARY = "app.canary"
TASK_WEBHOOKS = "app.webhooks"
TASK_GITHUB = "app.github"
TASK_ALIVE = "app.alive"
# The tasks of the trusted side. It drops messages for others.
TASKS = (
    *(TASK_FROM_NODE, TASK_DISPATCH, TASK_RECOVER, TASK_RERUN, TASK_CANARY, TASK_WEBHOOKS, TASK_GITHUB),
    TASK_ALIVE,
)

# The time of the last sign of life, by `part@machine`.
ALIVE = "samehere:alive"
ALIVE_DAYS = 1
SILENCE_SECONDS = 10.0


def require_password(settings: ServiceSettings) -> None:
    """Raise SetupError if the broker refuses the user or the password. An absent broker is no error here."""
    url = settings.reveal_broker_url()
    with suppress(RedisError):
        refusal = explain_refusal(url) if url else ""
        if refusal:
            raise SetupError(refusal)


def note_alive(redis: Redis, part: str) -> None:
    """Store that a process of this machine does its work: `recorder` or `beat`. Raises RedisError."""
    moment = time.time()
    redis.hset(ALIVE, f"{part}@{socket.gethostname()}", str(moment))
    for name, since in cast("dict[bytes, bytes]", redis.hgetall(ALIVE)).items():
        if moment - float(since) > ALIVE_DAYS * 86_400:
            redis.hdel(ALIVE, name.decode())
