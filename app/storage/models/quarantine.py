"""A quarantined node, toolchain or script. Lifted quarantines stay as history."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.states import QuarantineKind
from app.storage.models.base import Base, Id, choice


class QuarantineRow(Base):
    __tablename__ = "quarantine"
    __table_args__ = (
        Index(
            "uq_quarantine_active", "kind", "name", unique=True, postgresql_where=text("lifted_at IS NULL")
        ),
        Index("ix_quarantine_pending", "id", postgresql_where=text("pending <> '{}'")),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    kind: Mapped[QuarantineKind] = mapped_column(choice("kind", QuarantineKind))
    # For a script, its digest.
    name: Mapped[Id]
    reason: Mapped[str]
    who: Mapped[str]
    # Evidence from this time on is in doubt. NULL: that of open runs and of the current run of each report.
    since: Mapped[datetime | None]
    created_at: Mapped[datetime]
    lifted_at: Mapped[datetime | None]
    # The number of reopened runs, and the ids of those that are still to be reopened.
    reopened: Mapped[int] = mapped_column(default=0)
    pending: Mapped[list[str]] = mapped_column(default=list)
