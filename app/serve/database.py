"""The database of the service: its migrations, and access for commands that run without the service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.embedded.postgres import EmbeddedPostgres
from app.errors import SetupError
from app.settings import ServiceSettings, read_settings
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder


def migrate(database_url: str) -> None:
    """Migrate a database to the schema of this version. Raises SetupError."""
    from alembic.util import CommandError
    from sqlalchemy.exc import OperationalError

    from app.storage.migrate import upgrade

    try:
        upgrade(database_url)
    except OperationalError as error:
        raise SetupError(f"can't reach the database: {' '.join(str(error.orig).split())}") from error
    except CommandError as error:
        raise SetupError(
            f"the database can't be migrated (was it made by a newer version?): {error}"
        ) from error


@contextmanager
def database(settings: ServiceSettings, *, migrated: bool = True) -> Iterator[str]:
    """The URL of the database: your own, that of a running service, or one that is started only for this.

    Only the last one is migrated here, and only if `migrated` is true. Raises SetupError.
    """
    own = settings.reveal_database_url()
    if own is not None:
        yield own
        return
    server = EmbeddedPostgres(settings.home, service_uid=settings.service_uid)
    running = server.attach()
    if running is not None:
        yield running
        return
    try:
        url = server.start()
        if migrated:
            migrate(url)
        yield url
    finally:
        server.stop()


def main() -> int:
    """`python -m app.serve.database`: migrate your own database before the service starts."""
    try:
        settings = read_settings()
        log_to_stderr("migrate", settings)
        with database(settings) as url:
            migrate(url)
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    return 0


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
