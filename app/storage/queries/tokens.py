"""Tokens by the digest of their secret, and the browsers that signed in with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.storage.models import SignInRow, TokenRow


def by_digest(session: Session, digest: str) -> TokenRow | None:
    """The token of a secret, revoked or not."""
    return session.scalar(select(TokenRow).where(TokenRow.digest == digest))


def all_tokens(session: Session) -> Sequence[TokenRow]:
    """All tokens, newest first."""
    return session.scalars(select(TokenRow).order_by(TokenRow.id.desc())).all()


def exists_valid(session: Session) -> bool:
    """Whether a token exists that is not revoked."""
    return session.scalar(select(TokenRow.id).where(TokenRow.revoked_at.is_(None)).limit(1)) is not None


def token_of_sign_in(session: Session, digest: str, *, at: datetime) -> TokenRow | None:
    """The token of a browser whose sign-in is valid at this time. None too if the token is revoked."""
    return session.scalar(
        select(TokenRow)
        .join(SignInRow, SignInRow.token_id == TokenRow.id)
        .where(SignInRow.digest == digest, SignInRow.expires_at > at, TokenRow.revoked_at.is_(None))
    )


def end_sign_in(session: Session, digest: str) -> None:
    """End one sign-in. It is no error if there is none."""
    session.execute(delete(SignInRow).where(SignInRow.digest == digest))


def forget_expired_sign_ins(session: Session, *, at: datetime) -> None:
    """Delete the sign-ins that have expired by this time."""
    session.execute(delete(SignInRow).where(SignInRow.expires_at <= at))
