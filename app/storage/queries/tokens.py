"""Tokens by the digest of their secret."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.storage.models import TokenRow


def by_digest(session: Session, digest: str) -> TokenRow | None:
    """The token of a secret, revoked or not."""
    return session.scalar(select(TokenRow).where(TokenRow.digest == digest))


def all_tokens(session: Session) -> Sequence[TokenRow]:
    """All tokens, newest first."""
    return session.scalars(select(TokenRow).order_by(TokenRow.id.desc())).all()


def exists_valid(session: Session) -> bool:
    """Whether a token exists that is not revoked."""
    return session.scalar(select(TokenRow.id).where(TokenRow.revoked_at.is_(None)).limit(1)) is not None
