"""One act of a maintainer, kept for good: what was done to what, why, and by whom."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.states import ActKind, SubjectKind
from app.storage.models.base import Base, Id, choice


class ActRow(Base):
    __tablename__ = "act"
    __table_args__ = (Index(None, "subject_kind", "subject", "id"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    subject_kind: Mapped[SubjectKind] = mapped_column(choice("subject_kind", SubjectKind))
    # An id, or the name of a node or toolchain, or the digest of a script.
    subject: Mapped[Id]
    what: Mapped[ActKind] = mapped_column(choice("what", ActKind))
    reason: Mapped[str]
    # The name of the token; `local`, `submitter` or `operator` where there was none.
    who: Mapped[str]
    # What changed, in words of ours: verdicts before and after, labels, ids.
    details: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
