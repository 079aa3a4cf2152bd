"""Signing in: a browser sends a token once and gets a cookie, whose secret is valid for some hours.

The cookie does not hold the token, so it opens nothing after it has expired or after the person signs out.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.clock import now
from app.runs.maintenance.tokens import Token, authenticate, token_of_row
from app.runs.rows.withdraw_secret import secret_digest
from app.storage.models import SignInRow
from app.storage.queries import tokens as queries

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSignIn:
    """A sign-in with the secret of its cookie."""

    token: Token
    secret: str


def sign_in(session: Session, token_secret: str, *, hours: float) -> NewSignIn:
    """Sign a browser in with the secret of a token. Raises UnauthorisedError."""
    token = authenticate(session, token_secret)
    secret, moment = secrets.token_urlsafe(SECRET_BYTES), now()
    queries.forget_expired_sign_ins(session, at=moment)
    session.add(
        SignInRow(
            digest=secret_digest(secret),
            token_id=token.id,
            created_at=moment,
            expires_at=moment + timedelta(hours=hours),
        )
    )
    session.flush()
    return NewSignIn(token=token, secret=secret)


def signed_in_token(session: Session, secret: str) -> Token | None:
    """The token with which a browser signed in. None if that has expired, was ended, or is revoked."""
    row = queries.token_of_sign_in(session, secret_digest(secret), at=now())
    return None if row is None else token_of_row(row)


def sign_out(session: Session, secret: str) -> None:
    """End a sign-in. Its cookie is then worth nothing."""
    queries.end_sign_in(session, secret_digest(secret))
