"""The text of a script as run, kept once by its digest."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class ScriptRow(Base):
    __tablename__ = "script"
    __table_args__ = (Index(None, "shape_digest"),)

    digest: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]
    # What a report's main script is found again by; none on rows from before there was this.
    shape_digest: Mapped[str | None]
    sketch: Mapped[bytes | None]
    created_at: Mapped[datetime]
