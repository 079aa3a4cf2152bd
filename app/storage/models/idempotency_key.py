"""An idempotency key: the digest of the body that came with it, and the run that it made."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class IdempotencyKeyRow(Base):
    __tablename__ = "idempotency_key"

    key: Mapped[str] = mapped_column(primary_key=True)
    body_digest: Mapped[str]
    # Deferred, since the key is stored before its run: a second submission with the key then waits for the
    # first.
    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id", deferrable=True, initially="DEFERRED"))
    created_at: Mapped[datetime]
