"""The current time. Every moment has a time zone, UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(tz=UTC)
