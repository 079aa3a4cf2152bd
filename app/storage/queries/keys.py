"""Stores rows that exist once: environments by digest, answers by idempotency key."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import Table, Text, any_, bindparam, exists, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert

from app.storage.models import EnvironmentRow, IdempotencyKeyRow

# The prefix of the parameters with the values of a new key.
_NEW = "new_"


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
    columns = IdempotencyKeyRow.__table__.columns
    values = {f"{_NEW}{column.key}": getattr(new_row, column.key) for column in columns}
    older = list(older_forms)
    taken = session.connection().execute(_insert_key(), {**values, "older_forms": older}).scalar()
    if taken is not None:
        return None
    earlier = session.scalar(
        select(IdempotencyKeyRow).where(
            IdempotencyKeyRow.key.in_(older),
            IdempotencyKeyRow.submitter.is_not_distinct_from(new_row.submitter),
        )
    )
    return session.get(IdempotencyKeyRow, new_row.key) if earlier is None else earlier


@cache
def _insert_key() -> ReturningInsert[str]:
    """Inserts a key that is there in no form, in one statement. It waits for a transaction with the key."""
    columns = IdempotencyKeyRow.__table__.columns
    new = {column.key: bindparam(f"{_NEW}{column.key}", type_=column.type) for column in columns}
    is_older = exists().where(
        IdempotencyKeyRow.key == any_(bindparam("older_forms", type_=ARRAY(Text))),
        IdempotencyKeyRow.submitter.is_not_distinct_from(new["submitter"]),
    )
    statement = insert(cast("Table", IdempotencyKeyRow.__table__)).from_select(
        list(new), select(*new.values()).where(~is_older)
    )
    return statement.on_conflict_do_nothing().returning(IdempotencyKeyRow.key)
