"""The service's database for a command: the running service's, or one that is started for as long as the command needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.embedded.postgres import EmbeddedPostgres
from app.settings import ServiceSettings


@contextmanager
def database(settings: ServiceSettings) -> Iterator[str]:
    """The URL of a migrated database. Raises SetupError."""
    from app.storage.migrate import upgrade

    if settings.database_url is not None:
        yield settings.database_url
        return
    server = EmbeddedPostgres(settings.home, service_uid=settings.service_uid)
    running = server.attach()
    if running is not None:
        yield running
        return
    try:
        url = server.start()
        upgrade(url)
        yield url
    finally:
        server.stop()
