"""The broker of the service, for commands that work on it directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.embedded.valkey import EmbeddedValkey
from app.settings import ServiceSettings


@contextmanager
def broker(settings: ServiceSettings) -> Iterator[str]:
    """The URL of the broker: your own, that of a running service, or one that is started only for this.

    Raises SetupError.
    """
    own = settings.reveal_broker_url()
    if own is not None:
        yield own
        return
    server = EmbeddedValkey(settings.home, service_uid=settings.service_uid)
    running = server.attach()
    if running is not None:
        yield running
        return
    try:
        yield server.start()
    finally:
        server.stop()
