"""Idempotency keys: the same key with the same body gets the answer of the first request."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import IdempotencyError, InputError
from app.runs.rows.facts import document_of
from app.runs.run_object.document import RunDocument
from app.storage.queries import keys
from app.storage.queries import runs as queries

KEY_CHARACTERS = 255


def earlier_answer(session: Session, key: str | None, *, body_digest: str, run_id: str) -> RunDocument | None:
    """The run that an earlier request with this key made.

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
    earlier_key = keys.take_key(session, key, body_digest=body_digest, run_id=run_id, moment=now())
    if earlier_key is None:
        return None
    if earlier_key.body_digest != body_digest:
        raise IdempotencyError("This Idempotency-Key was used with another body.", field="Idempotency-Key")
    run = queries.run_of(session, earlier_key.run_id)
    if run is None:
        raise IdempotencyError("The run of this Idempotency-Key no longer exists.", field="Idempotency-Key")
    return document_of(session, run)
