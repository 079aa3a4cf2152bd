"""A bug report as submitted, with what was read from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id, choice

Form = Literal["script", "report"]


class ReportRow(Base):
    __tablename__ = "report"
    __table_args__ = (Index(None, "source_url"), Index(None, "main_script"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    title: Mapped[str]
    source_url: Mapped[str | None]
    form: Mapped[Form] = mapped_column(choice("form", Form))
    text: Mapped[str]
    claim_text: Mapped[str | None]
    # The Reading, without the scripts' text as run: that is kept once, by digest.
    reading: Mapped[dict[str, Any]]
    # By which reports of the same are found; none where there is no script, and on rows from before there was this.
    main_script: Mapped[str | None] = mapped_column(ForeignKey("script.digest"))
    created_at: Mapped[datetime]
