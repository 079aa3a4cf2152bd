"""The broker as the trusted side uses it: the one place that knows its URL forms, keys and channels."""

from __future__ import annotations

from app.settings import ServiceSettings


def celery_url(url: str) -> str:
    """The URL as Celery wants it: `redis+socket:///path` for a unix socket."""
    return "redis+socket://" + url.removeprefix("unix://") if url.startswith("unix://") else url


def redis_url(url: str) -> str:
    """The URL as redis-py wants it: `unix:///path` for a unix socket."""
    return "unix://" + url.removeprefix("redis+socket://") if url.startswith("redis+socket://") else url


def run_channel(run_id: str) -> str:
    """The pub/sub channel that is poked when a run has new events."""
    return f"samehere:run:{run_id}"


class Broker:
    """Transport, heartbeats and pokes. Every method raises UnavailableError when the broker is down."""

    def __init__(self, settings: ServiceSettings) -> None:
        raise NotImplementedError

    def ping(self) -> None:
        """Raise UnavailableError if the broker doesn't answer."""
        raise NotImplementedError
