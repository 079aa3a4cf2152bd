"""An idempotency key: the digest of the body that came with it, and the run that it made or changed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class IdempotencyKeyRow(Base):
    __tablename__ = "idempotency_key"

    # The digest of the key. Rows older than the column `submitter` hold the key itself.
    key: Mapped[str] = mapped_column(primary_key=True)
    body_digest: Mapped[str]
    # Deferred, since the key is stored before its run: a second submission with the key then waits for the
    # first.
    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id", deferrable=True, initially="DEFERRED"))
    # The id of the token of the first request. NULL without a token.
    submitter: Mapped[Id | None]
    # Makes the withdraw secret, together with the key. NULL if the request gave none.
    salt: Mapped[str | None]
    created_at: Mapped[datetime]
