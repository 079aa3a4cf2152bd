"""A comparison of two attempts, by the rules of its time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import ComparisonResult
from app.storage.models.base import Base, Id, choice


class ComparisonRow(Base):
    __tablename__ = "comparison"
    __table_args__ = (Index(None, "candidate"),)

    baseline: Mapped[Id] = mapped_column(ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    candidate: Mapped[Id] = mapped_column(ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    # COMPARISON_RULES of `app.judging.versions`. Older comparisons are computed again.
    rules: Mapped[int]
    result: Mapped[ComparisonResult] = mapped_column(choice("result", ComparisonResult))
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
