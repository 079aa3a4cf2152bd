"""The engine and the sessions.

A request or task has one transaction; its messages are sent after the commit.
"""

from __future__ import annotations

import re
from typing import cast

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, sessionmaker

from app.errors import UnavailableError
from app.settings import ServiceSettings
from app.storage import outbox, tallies
from app.storage.broker import Broker
from app.storage.json_text import to_json
from app.storage.lasting_pool import LastingPool, check_before_use

# Serialisation failure, deadlock, and a lock that was not free within `lock_timeout`.
_BUSY = {"40001", "40P01", "55P03"}
_SHORT_WAIT = text("SELECT set_config('lock_timeout', :milliseconds, true)")


def driver_url(url: str) -> str:
    """The URL with the name of the driver in its scheme."""
    return re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url)


def make_engine(settings: ServiceSettings) -> Engine:
    """An engine on `settings.database_url`."""
    url = settings.reveal_database_url()
    if url is None:
        raise UnavailableError(
            "SAMEHERE_DATABASE_URL is not set; `samehere serve` sets it for its own database."
        )
    engine = create_engine(
        driver_url(url),
        poolclass=LastingPool,
        pool_size=settings.most_database_connections,
        max_overflow=0,
        # The connection that was used last is taken first, so that the others are unused when few are needed.
        pool_use_lifo=True,
        pool_timeout=5,
        json_serializer=to_json,
        # The values may be text of a report, and errors are logged.
        hide_parameters=True,
        connect_args={
            "connect_timeout": 5,
            "application_name": "samehere",
            "options": (
                "-c timezone=UTC -c lock_timeout=20s -c statement_timeout=60s"
                " -c jit=off -c random_page_cost=1.1"
            ),
        },
    )
    cast("LastingPool", engine.pool).lasting = settings.database_pool_size
    check_before_use(engine)
    return engine


def session_factory(engine: Engine, broker: Broker | None) -> sessionmaker[Session]:
    """A factory for `with factory.begin() as session:`.

    Messages are sent through the broker after the commit. A session raises UnavailableError at its first
    statement if the database does not have this version's schema.
    """
    factory = sessionmaker(engine, expire_on_commit=False)

    @event.listens_for(factory, "after_begin")
    def _require_schema(_session: Session, _transaction: object, connection: Connection) -> None:
        # Imported here: migrate needs the URL's form from this module.
        from app.storage.migrate import require_schema

        require_schema(connection)

    @event.listens_for(factory, "before_commit")
    def _count(session: Session) -> None:
        tallies.store_tallies(session)

    @event.listens_for(factory, "after_commit")
    def _deliver(session: Session) -> None:
        if session.in_nested_transaction():
            return
        waiting = outbox.take(session)
        if waiting is not None and broker is not None:
            waiting.deliver(broker)

    @event.listens_for(factory, "after_soft_rollback")
    def _drop(session: Session, _previous: object) -> None:
        outbox.take(session)
        tallies.drop_tallies(session)

    return factory


def wait_shortly(session: Session, seconds: float) -> None:
    """Let this transaction wait only so long for each lock.

    Whoever handles the runs of many people does that, so that a run that somebody holds for long, as for a
    corrected claim, holds up no others. It is tried again later.
    """
    # Postgres takes 0 for no limit.
    session.execute(_SHORT_WAIT, {"milliseconds": str(max(1, round(seconds * 1000)))})


def is_busy(error: SQLAlchemyError) -> bool:
    """Whether another transaction was in the way: a deadlock, a conflict, or a lock held for too long."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _BUSY


def is_unavailable(error: SQLAlchemyError) -> bool:
    """Whether the database is unavailable or busy, so that the same statement may succeed later."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeoutError))
