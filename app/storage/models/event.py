"""One numbered event of a run. It holds only ids."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class EventRow(Base):
    __tablename__ = "event"
    __table_args__ = (Index("ix_event_order", "transaction", "run_id", "number"),)

    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    ids: Mapped[dict[str, str]]
    created_at: Mapped[datetime]
    # The number of the database transaction that stored it: see `app.runs.rows.events`.
    transaction: Mapped[int] = mapped_column(
        BigInteger, server_default=text("(pg_current_xact_id()::text)::bigint")
    )
