"""Checks whether a database has the schema of this version."""

from __future__ import annotations

from sqlalchemy import NullPool, create_engine

from app.storage.migrate import is_migrated
from app.storage.session import driver_url


def is_current(url: str) -> bool:
    """Whether the database at this address has."""
    with create_engine(driver_url(url), poolclass=NullPool).connect() as connection:
        return is_migrated(connection)
