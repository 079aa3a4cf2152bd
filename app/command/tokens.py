"""`samehere token`: make, list and revoke the tokens of a service, in its database."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.command.service.database import DatabasePlace, database_place, service_database
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from app.runs.maintenance.tokens import Token


def create(name: str, scopes: Sequence[str], *, as_json: bool) -> None:
    """Make a token and print its secret, which is shown only this once. Raises InputError."""
    from app.runs.maintenance import tokens

    unknown = [scope for scope in scopes if scope not in list(tokens.Scope)]
    if unknown:
        raise InputError(
            f"There is no such scope. The scopes are: {', '.join(tokens.Scope)}.",
            code="unknown_scope",
            field="scope",
        )
    place = _say_place()
    with _session() as session:
        new_token = tokens.create(session, name=name, scopes=map(tokens.Scope, scopes))
    if as_json:
        print_json({**_as_data(new_token.token), "token": new_token.secret, "home": place.home})
    else:
        place_words = visible(place.words)
        sys.stderr.write(
            f"Token {new_token.token.id} in the {place_words}. It is shown only now; the service stores its"
            " digest:\n"
        )
        print_line(new_token.secret)


def show_all(*, as_json: bool) -> None:
    """Print all tokens, without their secrets."""
    from app.runs.maintenance import tokens

    _say_place()
    with _session() as session:
        all_tokens = tokens.list_tokens(session)
    if as_json:
        print_json([_as_data(token) for token in all_tokens])
        return
    for token in all_tokens:
        validity = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "valid"
        scopes = ",".join(sorted(token.scopes))
        print_line(f"{token.id}  {scopes:20} {validity:18} {visible(token.name)}")


def revoke(token_id: str) -> None:
    """Make a token invalid."""
    from app.runs.maintenance import tokens

    _say_place()
    with _session() as session:
        tokens.revoke(session, token_id)
    print_line(f"{visible(token_id)} is revoked")


def _say_place() -> DatabasePlace:
    """The database that is used. A warning about another one goes to stderr at once."""
    place = database_place()
    if place.warning:
        sys.stderr.write(f"{visible(place.warning)}\n")
    return place


def _as_data(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "created_at": token.created_at.isoformat(),
        "revoked_at": token.revoked_at.isoformat() if token.revoked_at else None,
    }


@contextmanager
def _session() -> Iterator[Session]:
    """A transaction in the database of the service."""
    with service_database() as sessions, sessions.begin() as session:
        yield session
