"""Keys that sign bundles: register a public half, list, revoke."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.ids import new_id
from app.runs.exchange.envelope import key_id_of
from app.storage.models import SigningKeyRow
from app.storage.queries import signing_keys as queries

NAME_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A registered key."""

    name: str
    key_id: str
    created_at: datetime
    revoked_at: datetime | None


def _key(row: SigningKeyRow) -> SigningKey:
    return SigningKey(name=row.name, key_id=row.key_id, created_at=row.created_at, revoked_at=row.revoked_at)


def register(session: Session, name: str, public_key: bytes) -> SigningKey:
    """Register the 32 bytes of an Ed25519 public key under a name. Raises InputError, ConflictError."""
    if not name.strip() or len(name) > NAME_CHARACTERS or not name.isprintable():
        raise InputError(
            f"A key needs a name of at most {NAME_CHARACTERS} printable characters.",
            code="bad_key_name",
            field="name",
        )
    key_id = key_id_of(public_key)
    if queries.by_key_id(session, key_id) is not None:
        raise ConflictError("This key is registered already, or was.", code="key_registered")
    row = SigningKeyRow(
        id=new_id(),
        name=name.strip(),
        key_id=key_id,
        public_key=base64.b64encode(public_key).decode(),
        created_at=now(),
    )
    session.add(row)
    session.flush()
    return _key(row)


def list_keys(session: Session) -> list[SigningKey]:
    """All keys, newest first."""
    return [_key(row) for row in queries.all_keys(session)]


def revoke_keys(session: Session, name: str) -> int:
    """Revoke all keys of a name; their number. Runs that they signed before stay. Raises NotFoundError."""
    rows = queries.valid_keys(session, name)
    if not rows:
        raise NotFoundError("There is no valid signing key of this name.", code="no_signing_key")
    for row in rows:
        row.revoked_at = now()
    return len(rows)
