"""The cached object of a run that has ended, so that it need not be assembled at each look."""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class RunDocumentRow(Base):
    __tablename__ = "run_document"

    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    # A digest of the rules, the run and the report. With another digest the object is assembled again.
    source_digest: Mapped[str] = mapped_column("made_from")
    # Compressed JSON: attempts print much the same.
    content: Mapped[bytes]
