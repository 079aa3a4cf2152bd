"""Idempotency keys: the same key of one caller with the same body gets the answer of the first request.

Keys can be guessed: an import makes them from addresses. So nobody takes the key of another token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import IdempotencyError, InputError
from app.runs.rows.facts import document_of
from app.runs.run_object.document import RunDocument
from app.storage.models import IdempotencyKeyRow
from app.storage.queries import keys
from app.storage.queries import runs as queries

KEY_CHARACTERS = 255
SALT_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRequest:
    """The first request with a key: its run as it is now, who sent it, and its salt."""

    document: RunDocument
    # The id of the token of the first request. None if it had no token.
    submitter: str | None
    # Makes the withdraw secret, together with the key. None if the request gave none.
    salt: str | None


def earlier_request(
    session: Session,
    key: str | None,
    *,
    body_digest: str,
    run_id: str,
    submitter: str | None = None,
    salt: str | None = None,
) -> EarlierRequest | None:
    """The earlier request with this key.

    None without a key, or if this request is the first.

    The first request takes the key for the run `run_id`. Raises IdempotencyError for another body,
    InputError.
    """
    if key is None:
        return None
    if not 1 <= len(key) <= KEY_CHARACTERS or not key.isprintable():
        raise InputError(
            f"An Idempotency-Key has 1 to {KEY_CHARACTERS} printable characters.",
            code="bad_idempotency_key",
            field="Idempotency-Key",
        )
    new_row = IdempotencyKeyRow(
        key=_stored_form(key, submitter),
        body_digest=body_digest,
        run_id=run_id,
        submitter=submitter,
        salt=salt,
        created_at=now(),
    )
    earlier_key = keys.take_key(session, new_row, older_forms=(key, _stored_form(key, None)))
    if earlier_key is None:
        return None
    if earlier_key.body_digest != body_digest:
        raise IdempotencyError("This Idempotency-Key was used with another body.", field="Idempotency-Key")
    run = queries.run_of(session, earlier_key.run_id)
    if run is None:
        raise IdempotencyError("The run of this Idempotency-Key no longer exists.", field="Idempotency-Key")
    return EarlierRequest(
        document=document_of(session, run), submitter=earlier_key.submitter, salt=earlier_key.salt
    )


def earlier_answer(
    session: Session, key: str | None, *, body_digest: str, run_id: str, submitter: str | None
) -> RunDocument | None:
    """The run that an earlier request with this key made or changed. As `earlier_request`."""
    earlier = earlier_request(session, key, body_digest=body_digest, run_id=run_id, submitter=submitter)
    return None if earlier is None else earlier.document


def new_salt() -> str:
    """A random salt for `secret_of_key`."""
    return secrets.token_urlsafe(SALT_BYTES)


def secret_of_key(key: str, salt: str) -> str:
    """The withdraw secret of a submission with this key.

    The salt alone is stored, so the database does not tell the secret; the key alone tells it to nobody else.
    """
    digest = hmac.digest(salt.encode(), b"withdraw\0" + key.encode(), "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _stored_form(key: str, submitter: str | None) -> str:
    # Whoever reads the database must not learn the key: it is a part of the withdraw secret. No key of a
    # caller has a NUL.
    owned = key if submitter is None else f"{submitter}\0{key}"
    return "sha256:" + hashlib.sha256(owned.encode()).hexdigest()
