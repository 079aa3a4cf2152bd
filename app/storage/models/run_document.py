"""The object of a run that is over, as it was assembled, so that whoever looks need not judge it anew."""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class RunDocumentRow(Base):
    __tablename__ = "run_document"

    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    # Of the code, the run and the report that it was made from: with another one it is made anew.
    made_from: Mapped[str]
    # JSON, compressed: attempts print much the same.
    content: Mapped[bytes]
