"""Runs migrations: one process at a time (advisory lock), with short lock timeouts, each in its own
transaction.
"""

from __future__ import annotations

import time

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

from app.settings import ServiceSettings
from app.storage.models import Base
from app.storage.session import driver_url

# An arbitrary number, the same in all processes.
ADVISORY_LOCK = 7_264_351
LONGEST_SECONDS = 60
LOOK_SECONDS = 0.1


def migrate(connection: Connection) -> None:
    """Run the requested migrations on this connection."""
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
    """Wait until no other migration runs on this database. Raises TimeoutError.

    No transaction is open while it waits, since creating an index concurrently waits for all open
    transactions.
    """
    deadline = time.monotonic() + LONGEST_SECONDS
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}):
        connection.commit()
        if time.monotonic() > deadline:
            raise TimeoutError(
                "Another migration of this database has been running for more than"
                f" {LONGEST_SECONDS} seconds."
            )
        time.sleep(LOOK_SECONDS)
    connection.commit()


connection = context.config.attributes.get("connection")
if connection is not None:
    migrate(connection)
else:
    engine = create_engine(driver_url(ServiceSettings().reveal_database_url() or ""), poolclass=pool.NullPool)
    with engine.connect() as own:
        migrate(own)
