"""The text of a script as run, kept once by its digest."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base

# A sketch in pieces of four values: two that are three quarters alike share one of the sixteen in 998 of 1000 cases.
BANDS = "ARRAY[" + ", ".join(f"substring(script.sketch from {at} for 16)" for at in range(1, 257, 16)) + "]"


class ScriptRow(Base):
    __tablename__ = "script"
    __table_args__ = (
        Index(None, "shape_digest"),
        Index(
            "ix_script_bands",
            text(f"({BANDS.replace('script.', '')})"),
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        ),
    )

    digest: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]
    # What a report's main script is found again by; none on rows from before there was this.
    shape_digest: Mapped[str | None]
    sketch: Mapped[bytes | None]
    # From then on the text is erased, until somebody submits the same again.
    erased_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
