"""One cell of a run: a script on a target."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.states import JobState
from app.storage.models.base import Base, Id, choice


class JobRow(Base):
    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("run_id", "position"),
        Index(None, "script_digest", "id"),
        Index("ix_job_toolchain", text("split_part(target ->> 'toolchain', '+', 1)")),
        Index("ix_job_open", "run_id", postgresql_where=text("state IN ('queued', 'running')")),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id"))
    # The order of the plan: cheap cells first.
    position: Mapped[int]
    script_digest: Mapped[str] = mapped_column(ForeignKey("script.digest"))
    target: Mapped[dict[str, Any]]
    state: Mapped[JobState] = mapped_column(choice("state", JobState))
    # Added after the run has ended, to look for a contrast. It decides nothing about the run.
    is_contrast: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    # Set if no node could serve the target when the run was planned.
    reason: Mapped[dict[str, Any] | None]
    # All counted attempts are of this generation: one node, one environment. A restart raises it.
    generation: Mapped[int] = mapped_column(default=1)
    node: Mapped[str | None]
    environment_digest: Mapped[str | None]
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    # JUDGING_RULES of `app.judging.versions` by which the verdict was made.
    rules: Mapped[int | None]
