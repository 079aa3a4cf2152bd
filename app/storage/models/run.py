"""One launch of a report over a matrix."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.states import RunState, Trigger
from app.storage.models.base import Base, Id, choice
from worker.contract.log import current_request_id


class RunRow(Base):
    __tablename__ = "run"
    __table_args__ = (
        Index(None, "report_id", "id"),
        Index(None, "state"),
        Index("ix_run_open", "id", postgresql_where=text("state IN ('queued', 'running')")),
        Index("ix_run_canary", "id", postgresql_where=text("occasion = 'canary'")),
        Index("ix_run_of_ours", "id", postgresql_where=text("occasion <> 'submitted'")),
        UniqueConstraint("evidence_digest"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    report_id: Mapped[Id] = mapped_column(ForeignKey("report.id"))
    state: Mapped[RunState] = mapped_column(choice("state", RunState))
    # Why the run was started. Runs with triggers outside of FOREGROUND are dispatched last.
    trigger: Mapped[Trigger] = mapped_column(
        "occasion", choice("occasion", Trigger), default="submitted", server_default="submitted"
    )
    # The id of the token that started the run. NULL without a token.
    submitter: Mapped[Id | None]
    preset: Mapped[str | None]
    repeats_at_most: Mapped[int]
    repeats_exact: Mapped[bool]
    # The record of what was fixed before the first attempt (`app.runs.run_object.digests`). NULL on older
    # rows, for contributed runs and for bisections.
    plan_record: Mapped[dict[str, Any] | None]
    # The number of the latest event. It changes only under the lock of this row, so numbers have no gaps.
    last_event: Mapped[int] = mapped_column(default=0)
    # For lists. The run object is judged again from its attempts.
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    summary: Mapped[str] = mapped_column(default="")
    # JUDGING_RULES of `app.judging.versions` by which the verdict was made. NULL on rows older than this
    # column.
    rules: Mapped[int | None]
    # The verdict of a maintainer. The measured verdict stays in `verdict`.
    overruled: Mapped[Verdict | None] = mapped_column(choice("overruled", Verdict))
    # Set when the report was withdrawn: the run object without anything that was submitted or printed.
    withdrawn_record: Mapped[dict[str, Any] | None] = mapped_column("kept")
    # The contributor; NULL for a run of our own nodes. The same evidence is contributed once.
    contributed_by: Mapped[str | None]
    evidence_digest: Mapped[str | None]
    # For a contributed run: the nodes, the version and the time that its bundle names.
    made_by: Mapped[dict[str, Any] | None]
    # The id of the HTTP request that started the run, so that its lines in all logs can be found.
    request_id: Mapped[str | None] = mapped_column(default=current_request_id)
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]

    @property
    def is_withdrawn(self) -> bool:
        """Whether the report of the run was withdrawn."""
        return self.withdrawn_record is not None
