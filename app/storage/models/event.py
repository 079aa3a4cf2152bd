"""One numbered event of a run. It holds only ids."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class EventRow(Base):
    __tablename__ = "event"

    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    ids: Mapped[dict[str, str]]
    created_at: Mapped[datetime]
