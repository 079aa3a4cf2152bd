"""One act of a maintainer: its kind, subject, reason and author. Acts are never deleted."""

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
    # The id of a report or run, the name of a node or toolchain, or the digest of a script.
    subject: Mapped[Id]
    what: Mapped[ActKind] = mapped_column(choice("what", ActKind))
    reason: Mapped[str]
    # The name of the token; `local`, `submitter` or `operator` without a token.
    who: Mapped[str]
    # The change: verdicts before and after, labels, ids. No untrusted text.
    details: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
