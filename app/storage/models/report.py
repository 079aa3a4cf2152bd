"""A bug report as submitted, with what was read from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id, choice

Form = Literal["script", "report"]


class ReportRow(Base):
    __tablename__ = "report"
    __table_args__ = (Index(None, "source_url"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    title: Mapped[str]
    source_url: Mapped[str | None]
    form: Mapped[Form] = mapped_column(choice("form", Form))
    text: Mapped[str]
    claim_text: Mapped[str | None]
    # The Reading, without the scripts' text as run: that is kept once, by digest.
    reading: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
