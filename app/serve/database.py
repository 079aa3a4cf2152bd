"""The database of the service: its migrations, and access for commands that run without the service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.embedded.postgres import EmbeddedPostgres
from app.errors import SamehereError, SetupError, UnavailableError, start_status
from app.settings import ServiceSettings, read_settings
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder

# Postgres names no code when it refuses a connection. A server with other words for it counts as away.
_REFUSALS = (
    "authentication failed",
    "no password supplied",
    "does not exist",
    "no pg_hba.conf entry",
    "is not permitted to log in",
)


def migrate(database_url: str) -> None:
    """Migrate a database to the schema of this version.

    Raises SetupError if it can't be, UnavailableError if the server is away.
    """
    from alembic.util import CommandError
    from sqlalchemy.exc import OperationalError

    from app.storage.migrate import upgrade

    try:
        upgrade(database_url)
    except OperationalError as error:
        words = " ".join(str(error.orig).split())
        is_refused = any(refusal in words for refusal in _REFUSALS)
        kind = SetupError if is_refused else UnavailableError
        raise kind(f"can't reach the database: {words}") from error
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
    except SamehereError as error:
        sys.stderr.write(f"{error.message}\n")
        return start_status(error)
    return 0


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
