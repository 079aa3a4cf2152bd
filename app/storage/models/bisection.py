"""A bisection of a report: a run whose cells are the points of a series, tried as they tell most."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class BisectionRow(Base):
    __tablename__ = "bisection"
    __table_args__ = (Index(None, "report_id", "id"),)

    # That of the run that its attempts belong to; its state is the run's.
    id: Mapped[Id] = mapped_column(ForeignKey("run.id"), primary_key=True)
    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id"))
    axis: Mapped[str]
    # The values with their targets, as the fleet was when it was asked for; a job's position is its place here.
    points: Mapped[list[dict[str, Any]]] = mapped_column(JSONB(none_as_null=True))
    error: Mapped[float]
    most_attempts: Mapped[int]
    side_by_side: Mapped[int]
    # Kept for pages and lists, after each attempt.
    answer: Mapped[dict[str, Any]]
    asked_by: Mapped[str | None]
    created_at: Mapped[datetime]
