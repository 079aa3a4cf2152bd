"""The text of a script as it is run, stored once by its digest."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base

# A sketch is cut into 16 pieces of four values. Two sketches that are alike to three quarters share a piece
# in 998 of 1000 cases.
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
    # Finds similar main scripts. NULL on rows older than these columns.
    shape_digest: Mapped[str | None]
    sketch: Mapped[bytes | None]
    # Set when the text was erased. The same script can be submitted again.
    erased_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
