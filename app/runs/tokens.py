"""Tokens: prefixed, random, stored as a digest only, shown once; with scopes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

PREFIX = "samehere_"


class Scope(StrEnum):
    """What a token may do; each includes the ones before it."""

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
        return any(order.index(held) >= order.index(scope) for held in self.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token with its secret, for once."""

    token: Token
    secret: str


def create(session: Session, *, name: str, scopes: Iterable[Scope]) -> NewToken:
    """Make a token. Raises InputError without a name or a scope."""
    raise NotImplementedError


def authenticate(session: Session, secret: str) -> Token:
    """The token of this secret. Raises UnauthorisedError."""
    raise NotImplementedError


def any_tokens(session: Session) -> bool:
    """Whether a token exists that is not revoked: only then may the web leave loopback."""
    raise NotImplementedError


def list_tokens(session: Session) -> list[Token]:
    """All tokens, newest first."""
    raise NotImplementedError


def revoke(session: Session, token_id: str) -> None:
    """Make a token invalid. Raises NotFoundError."""
    raise NotImplementedError
