"""Runs migrations: one at a time on a database (advisory lock), with short waits for locks, each in one transaction."""

from __future__ import annotations

import time

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

from app.settings import ServiceSettings
from app.storage.models import Base
from app.storage.session import driver_url

# Any constant will do; it only has to be the same everywhere.
ADVISORY_LOCK = 7_264_351
LONGEST_SECONDS = 60
LOOK_SECONDS = 0.1


def migrate(connection: Connection) -> None:
    """Run what was asked for on this connection."""
    _wait_for_turn(connection)
    connection.execute(text("SET lock_timeout = '4s'"))
    connection.execute(text("SET statement_timeout = '5s'"))
    connection.commit()
    try:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            transaction_per_migration=True,
            compare_type=True,
            compare_server_default=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
    finally:
        connection.rollback()
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})
        connection.commit()


def _wait_for_turn(connection: Connection) -> None:
    """Another migration may be at work: wait for it longer than for any table. Raises TimeoutError.

    Between two looks no transaction is open: an index that is made concurrently waits for all that are.
    """
    deadline = time.monotonic() + LONGEST_SECONDS
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}):
        connection.commit()
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"Another migration of this database is at work, for more than {LONGEST_SECONDS} seconds."
            )
        time.sleep(LOOK_SECONDS)
    connection.commit()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    engine = create_engine(driver_url(ServiceSettings().database_url or ""), poolclass=pool.NullPool)
    with engine.connect() as own:
        migrate(own)
