"""The text of a script as run, kept once by its digest."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class ScriptRow(Base):
    __tablename__ = "script"

    digest: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]
    created_at: Mapped[datetime]
