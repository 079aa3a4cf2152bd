"""Runs migrations: one at a time on a database (advisory lock), with short waits for locks, each in one transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

from app.settings import ServiceSettings
from app.storage.models import Base
from app.storage.session import driver_url

# Any constant will do; it only has to be the same everywhere.
ADVISORY_LOCK = 7_264_351


def migrate(connection: Connection) -> None:
    """Run what was asked for on this connection."""
    # Another migration may be at work: wait for it longer than for any table.
    connection.execute(text("SET lock_timeout = '60s'"))
    connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": ADVISORY_LOCK})
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


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    engine = create_engine(driver_url(ServiceSettings().database_url or ""), poolclass=pool.NullPool)
    with engine.connect() as own:
        migrate(own)
