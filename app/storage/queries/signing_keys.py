"""The registered keys that sign bundles."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.storage.models import SigningKeyRow


def all_keys(session: Session) -> Sequence[SigningKeyRow]:
    """All keys, newest first, with those that were revoked."""
    return session.scalars(select(SigningKeyRow).order_by(SigningKeyRow.id.desc())).all()


def valid_keys(session: Session, name: str | None = None) -> Sequence[SigningKeyRow]:
    """The keys that are not revoked, oldest first; with a name, only its own."""
    statement = select(SigningKeyRow).where(SigningKeyRow.revoked_at.is_(None))
    if name is not None:
        statement = statement.where(SigningKeyRow.name == name)
    return session.scalars(statement.order_by(SigningKeyRow.id)).all()


def by_key_id(session: Session, key_id: str) -> SigningKeyRow | None:
    """The key with this digest."""
    return session.scalar(select(SigningKeyRow).where(SigningKeyRow.key_id == key_id))
