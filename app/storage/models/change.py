"""A change: two cells of a report with the same script whose verdicts differ. Both jobs are its evidence."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.judging.report.change import ChangeKind
from app.storage.models.base import Base, Id, choice


class ChangeRow(Base):
    __tablename__ = "change"
    # Ids sort by time, so lists need no index on a date.
    __table_args__ = (
        Index(None, "kind", "id"),
        Index(None, "toolchain", "id"),
        Index(None, "report_id", "id"),
        Index(None, "job_id"),
        Index(None, "before_job_id"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id"))
    # The run of `job_id`, the later side: by version, or by time for the same toolchain.
    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id"))
    job_id: Mapped[Id] = mapped_column(ForeignKey("job.id"))
    before_job_id: Mapped[Id] = mapped_column(ForeignKey("job.id"))
    kind: Mapped[ChangeKind] = mapped_column(choice("kind", ChangeKind))
    script_digest: Mapped[str] = mapped_column(ForeignKey("script.digest"))
    # The labels of both targets, and their toolchains without the packages that were added for the report.
    target: Mapped[str]
    before_target: Mapped[str]
    toolchain: Mapped[str]
    before_toolchain: Mapped[str]
    before: Mapped[Verdict] = mapped_column(choice("before", Verdict))
    after: Mapped[Verdict] = mapped_column(choice("after", Verdict))
    # The package whose version is the only difference, with both versions. Empty if there is none or more
    # than one.
    axis: Mapped[str] = mapped_column(default="")
    older: Mapped[str] = mapped_column(default="")
    newer: Mapped[str] = mapped_column(default="")
    # Other differences of the environments, the likeliest cause first. Empty unless the kind is `confounded`.
    differs: Mapped[list[str]]
    # The cell that would separate the differences, as text. Empty if none is missing.
    missing: Mapped[str] = mapped_column(default="")
    # The removal in the newer side's version, as `app.runs.run_object.removal_part.RemovalPart`.
    removal: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]
