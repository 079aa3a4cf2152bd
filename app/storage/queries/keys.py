"""Stores rows that exist once: environments by digest, answers by idempotency key."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.models import EnvironmentRow, IdempotencyKeyRow


def store_environment(session: Session, digest: str, facts: dict[str, Any], *, moment: datetime) -> None:
    """Store an environment if it is new."""
    session.execute(
        insert(EnvironmentRow).values(digest=digest, facts=facts, created_at=moment).on_conflict_do_nothing()
    )


def take_key(
    session: Session, new_row: IdempotencyKeyRow, *, older_forms: Collection[str]
) -> IdempotencyKeyRow | None:
    """Store a key for a run. Returns the row of the key if it is taken, else None.

    `older_forms` are the key as earlier versions stored it, for all submitters together. Waits for a
    submission with the same key that has not been committed yet.
    """
    earlier = session.scalar(
        select(IdempotencyKeyRow).where(
            IdempotencyKeyRow.key.in_(older_forms),
            IdempotencyKeyRow.submitter.is_not_distinct_from(new_row.submitter),
        )
    )
    if earlier is not None:
        return earlier
    columns = {column.key: getattr(new_row, column.key) for column in IdempotencyKeyRow.__table__.columns}
    statement = insert(IdempotencyKeyRow).values(**columns)
    if session.scalar(statement.on_conflict_do_nothing().returning(IdempotencyKeyRow.key)) is not None:
        return None
    return session.get(IdempotencyKeyRow, new_row.key)
