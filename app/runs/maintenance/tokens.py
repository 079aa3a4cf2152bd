"""Access tokens. Only their digests are stored, so a token is shown once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError, NotFoundError, UnauthorisedError
from app.ids import new_id
from app.storage.models import TokenRow
from app.storage.queries import tokens as queries

PREFIX = "samehere_"
SECRET_BYTES = 32
NAME_CHARACTERS = 100


class Scope(StrEnum):
    """A permission. Each scope includes the scopes before it."""

    READ = "read"
    SUBMIT = "submit"
    MAINTAIN = "maintain"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    revoked_at: datetime | None

    def allows(self, scope: Scope) -> bool:
        """Whether the token carries this scope or a higher one."""
        order = list(Scope)
        return any(order.index(own) >= order.index(scope) for own in self.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A new token with its secret."""

    token: Token
    secret: str


def _digest(secret: str) -> str:
    # A secret of 256 random bits needs neither a slow hash nor a salt.
    return hashlib.sha256(secret.encode()).hexdigest()


def token_of_row(row: TokenRow) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        scopes=frozenset(Scope(scope) for scope in row.scopes),
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )


def create(session: Session, *, name: str, scopes: Iterable[Scope]) -> NewToken:
    """Create a token. Raises InputError without a name or a scope."""
    sorted_scopes = sorted(set(scopes))
    if not name.strip() or len(name) > NAME_CHARACTERS or not name.isprintable():
        raise InputError(
            f"A token needs a name of at most {NAME_CHARACTERS} characters.",
            code="bad_token_name",
            field="name",
        )
    if not sorted_scopes:
        raise InputError(f"A token needs a scope: {', '.join(Scope)}.", code="no_scope", field="scopes")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    row = TokenRow(
        id=new_id(),
        name=name.strip(),
        digest=_digest(secret),
        scopes=[str(scope) for scope in sorted_scopes],
        created_at=now(),
    )
    session.add(row)
    session.flush()
    return NewToken(token=token_of_row(row), secret=secret)


def authenticate(session: Session, secret: str) -> Token:
    """The token with this secret. Raises UnauthorisedError."""
    row = queries.by_digest(session, _digest(secret)) if secret.startswith(PREFIX) else None
    if row is None or row.revoked_at is not None:
        raise UnauthorisedError("This token is not valid.")
    return token_of_row(row)


def any_tokens(session: Session) -> bool:
    """Whether a valid token exists. Without one, the service listens on loopback only."""
    return queries.exists_valid(session)


def list_tokens(session: Session) -> list[Token]:
    """All tokens, newest first."""
    return [token_of_row(row) for row in queries.all_tokens(session)]


def revoke(session: Session, token_id: str) -> None:
    """Revoke a token. Revoking it twice is harmless. Raises NotFoundError."""
    row = session.get(TokenRow, token_id)
    if row is None:
        raise NotFoundError("There is no token with this id.")
    row.revoked_at = row.revoked_at or now()
