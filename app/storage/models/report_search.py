"""The search index: one row for each report, and one for each cell that our own nodes ran."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.storage.models.base import Base, Id, choice

# Without a list of pending entries, which every search would have to read. Rows are seldom written.
NO_PENDING_LIST = {"fastupdate": "off"}


class ReportSearchRow(Base):
    __tablename__ = "report_search"
    __table_args__ = (
        Index("ix_report_search_facets", "facets", postgresql_using="gin", postgresql_with=NO_PENDING_LIST),
        Index("ix_report_search_words", "words", postgresql_using="gin", postgresql_with=NO_PENDING_LIST),
        Index(None, "rules"),
    )

    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"), primary_key=True)
    # INDEX_RULES of `app.judging.versions`. Rows by older rules are indexed again.
    rules: Mapped[int]
    # Facts of the report or of one of its cells, such as `device:cuda`.
    facets: Mapped[list[str]]
    words: Mapped[Any] = mapped_column(TSVECTOR)


class ReportCellRow(Base):
    """The latest judged job of a script on a target and a machine, with what its attempts there showed."""

    __tablename__ = "report_cell"
    __table_args__ = (Index(None, "toolchain"),)

    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"), primary_key=True)
    script: Mapped[str] = mapped_column(primary_key=True)
    # The label of the target, a blank, and some digits for the machine.
    label: Mapped[str] = mapped_column(primary_key=True)
    device: Mapped[str]
    toolchain: Mapped[str]
    settings: Mapped[list[str]]
    node: Mapped[str | None]
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    outcomes: Mapped[list[str]]
    exceptions: Mapped[list[str]]
    # The words of the processor's name, and of the cards' names if it ran on cards.
    hardware: Mapped[list[str]] = mapped_column(server_default=text("'{}'::text[]"))
    # The categories of warnings, and what they are derived from.
    warnings: Mapped[list[str]] = mapped_column(server_default=text("'{}'::text[]"))
    # The beginning of the first attempt's output; untrusted text.
    output: Mapped[str] = mapped_column("said")
