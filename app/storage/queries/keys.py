"""Stores rows that exist once: scripts and environments by digest, answers by idempotency key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import Table, and_, case, func, or_, select
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.orm import Session

from app.storage.models import EnvironmentRow, IdempotencyKeyRow, ScriptRow


def store_scripts(
    session: Session,
    texts: Mapping[str, str],
    *,
    moment: datetime,
    marks: Mapping[str, tuple[str, bytes]] | None = None,
) -> None:
    """Store scripts that are new or were erased, and lock all of them.

    `marks` holds the shape and the sketch by which a script is found, for those that get some.

    The order of the digests keeps two submissions from waiting for each other in a circle. A withdrawal that
    would erase a script waits for the lock and then sees that the script is used.
    """
    known = marks or {}
    rows = []
    for digest, text in sorted(texts.items()):
        shape, sketch = known.get(digest, (None, None))
        row = {"digest": digest, "text": text, "created_at": moment, "shape_digest": shape, "sketch": sketch}
        rows.append(row)
    if rows:
        session.connection().execute(_insert_scripts(), rows)


@cache
def _insert_scripts() -> Insert:
    new = insert(cast("Table", ScriptRow.__table__))
    gets_marks = and_(ScriptRow.shape_digest.is_(None), new.excluded.shape_digest.is_not(None))
    again = {
        "text": new.excluded.text,
        "erased_at": None,
        "sketch": case((gets_marks, new.excluded.sketch), else_=ScriptRow.sketch),
        "shape_digest": func.coalesce(ScriptRow.shape_digest, new.excluded.shape_digest),
    }
    return new.on_conflict_do_update(
        index_elements=[ScriptRow.digest],
        set_=again,
        where=or_(ScriptRow.erased_at.is_not(None), gets_marks),
    )


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
