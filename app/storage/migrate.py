"""Migrates a database to the schema of this version, from a checkout or an installed wheel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from weakref import WeakSet

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, pool

from app.errors import UnavailableError
from app.storage.session import driver_url


def _configuration() -> Config:
    import migrations

    configuration = Config()
    configuration.set_main_option("script_location", str(next(iter(migrations.__path__))).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    return configuration


def _run(url: str, step: Callable[[Config], None]) -> None:
    configuration = _configuration()
    engine = create_engine(driver_url(url), poolclass=pool.NullPool)
    with engine.connect() as connection:
        configuration.attributes["connection"] = connection
        step(configuration)


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate up to a revision."""
    _run(url, lambda configuration: command.upgrade(configuration, revision))


def downgrade(url: str, revision: str = "-1") -> None:
    """Migrate down to a revision."""
    _run(url, lambda configuration: command.downgrade(configuration, revision))


def check(url: str) -> None:
    """Raise alembic's CommandError when the models and the migrations differ."""
    _run(url, command.check)


@cache
def head() -> str | None:
    """The newest revision of this version."""
    return ScriptDirectory.from_config(_configuration()).get_current_head()


# The engines whose database was seen with this version's schema.
_CURRENT: WeakSet[Engine] = WeakSet()


def require_schema(connection: Connection) -> None:
    """Raise UnavailableError unless the database has this version's schema. Asked once for each engine."""
    if connection.engine in _CURRENT:
        return
    if not is_migrated(connection):
        raise UnavailableError(
            "The database does not have the schema of this version. Migrate it: `python -m"
            " app.serve.database`.",
            code="not_migrated",
        )
    _CURRENT.add(connection.engine)


def is_migrated(connection: Connection) -> bool:
    """Whether the database has this version's schema."""
    return revision(connection) == head()


def revision(connection: Connection) -> str | None:
    """The revision of a database's schema, or None if it has no schema of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def is_known(revision: str) -> bool:
    """Whether this version knows a revision, so that it can migrate from it."""
    try:
        return ScriptDirectory.from_config(_configuration()).get_revision(revision) is not None
    except CommandError:
        return False
