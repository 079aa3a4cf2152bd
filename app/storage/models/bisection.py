"""A bisection of a report: a run whose cells are the points of a series.

The most informative ones are tried first.
"""

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

    # The id of its run. The state of the bisection is that of the run.
    id: Mapped[Id] = mapped_column(ForeignKey("run.id"), primary_key=True)
    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id"))
    axis: Mapped[str]
    # The values with their targets, for the fleet at the time of the request. `job.position` is an index into
    # them.
    points: Mapped[list[dict[str, Any]]] = mapped_column(JSONB(none_as_null=True))
    error: Mapped[float]
    most_attempts: Mapped[int]
    side_by_side: Mapped[int]
    # The answer so far, updated after each attempt, for pages and lists.
    answer: Mapped[dict[str, Any]]
    asked_by: Mapped[str | None]
    created_at: Mapped[datetime]
