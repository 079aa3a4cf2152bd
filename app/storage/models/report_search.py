"""What a report is found by: one row a report, and one for each cell of its matrix by our own nodes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.storage.models.base import Base, Id, choice

# No list of what is still to be put in, which every search would read: it is written seldom.
AT_ONCE = {"fastupdate": "off"}


class ReportSearchRow(Base):
    __tablename__ = "report_search"
    __table_args__ = (
        Index("ix_report_search_facets", "facets", postgresql_using="gin", postgresql_with=AT_ONCE),
        Index("ix_report_search_words", "words", postgresql_using="gin", postgresql_with=AT_ONCE),
        Index(None, "rules"),
    )

    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"), primary_key=True)
    # Of `app.runs.rows.search_index`: what older ones made is made anew.
    rules: Mapped[int]
    # What is true of the report or of one of its cells, `device:cuda`.
    facets: Mapped[list[str]]
    words: Mapped[Any] = mapped_column(TSVECTOR)


class ReportCellRow(Base):
    """The latest job of a script on a target that was judged."""

    __tablename__ = "report_cell"
    __table_args__ = (Index(None, "toolchain"),)

    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"), primary_key=True)
    script: Mapped[str] = mapped_column(primary_key=True)
    # The target as the command line writes it.
    label: Mapped[str] = mapped_column(primary_key=True)
    device: Mapped[str]
    toolchain: Mapped[str]
    settings: Mapped[list[str]]
    node: Mapped[str | None]
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    outcomes: Mapped[list[str]]
    exceptions: Mapped[list[str]]
    # The beginning of what its first attempt said; hostile text.
    said: Mapped[str]
