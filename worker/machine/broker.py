"""The broker by both of its clients' names: Celery and the plain Redis client spell a Unix socket differently."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

import redis

_TIMEOUT_SECONDS = 5.0


def redis_url(broker_url: str) -> str:
    """What redis-py calls the server that Celery calls `broker_url`."""
    parts = urlsplit(broker_url)
    if parts.scheme not in {"redis+socket", "redis+unix"}:
        return broker_url
    query = [
        ("db" if key == "virtual_host" else key, value.lstrip("/") if key == "virtual_host" else value)
        for key, value in parse_qsl(parts.query)
    ]
    return f"unix://{parts.netloc}{parts.path}{'?' + urlencode(query) if query else ''}"


def connect(broker_url: str) -> redis.Redis:
    """Lazy: no connection is made before the first command; a silent server is an error after seconds."""
    return redis.Redis.from_url(
        redis_url(broker_url),
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        decode_responses=True,
    )
