"""A connection to the broker for heartbeats and cancellations. Celery has its own."""

from __future__ import annotations

import redis

from worker.contract.broker.url import redis_url

_TIMEOUT_SECONDS = 5.0


def connect(broker_url: str) -> redis.Redis:
    """A client that connects at the first command. A command fails after 5 seconds without an answer."""
    return redis.Redis.from_url(
        redis_url(broker_url),
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        decode_responses=True,
    )
