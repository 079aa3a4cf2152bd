"""`samehere token`: make, list and revoke the tokens of a service, in its database."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.command.service.database import service_database
from app.command.terminal.plain_text import visible
from app.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from app.runs.maintenance.tokens import Token


def create(name: str, scopes: Sequence[str], *, as_json: bool) -> None:
    """Make one and print its secret, which is shown this once."""
    from app.runs.maintenance import tokens

    unknown = [scope for scope in scopes if scope not in list(tokens.Scope)]
    if unknown:
        raise InputError(
            f"There is no such scope. The scopes are: {', '.join(tokens.Scope)}.",
            code="unknown_scope",
            field="scope",
        )
    with _session() as session:
        made = tokens.create(session, name=name, scopes=map(tokens.Scope, scopes))
    if as_json:
        _say(json.dumps({**_as_data(made.token), "token": made.secret}, indent=1))
    else:
        sys.stderr.write(f"token {made.token.id}; it is shown only now, and kept as a digest:\n")
        _say(made.secret)


def show_all(*, as_json: bool) -> None:
    """Print what there is; never a secret."""
    from app.runs.maintenance import tokens

    with _session() as session:
        found = tokens.list_tokens(session)
    if as_json:
        _say(json.dumps([_as_data(token) for token in found], indent=1))
        return
    for token in found:
        revoked = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "valid"
        _say(f"{token.id}  {','.join(sorted(token.scopes)):20} {revoked:18} {visible(token.name)}")


def revoke(token_id: str) -> None:
    """Make one invalid."""
    from app.runs.maintenance import tokens

    with _session() as session:
        tokens.revoke(session, token_id)
    _say(f"{visible(token_id)} is revoked")


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


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
