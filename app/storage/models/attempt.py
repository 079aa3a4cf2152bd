"""One execution of a job, from the queue to its result."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.states import AttemptState
from app.storage.models.base import Base, Id, choice
from worker.contract import AttemptKind, Outcome, Start


class AttemptRow(Base):
    __tablename__ = "attempt"
    __table_args__ = (
        Index(None, "job_id"),
        Index("ix_attempt_queued", "job_id", "id", postgresql_where=text("state = 'queued'")),
        Index("ix_attempt_recorded_at", "recorded_at", postgresql_where=text("recorded_at IS NOT NULL")),
        Index("ix_attempt_cards", "cards", postgresql_using="gin"),
        Index("ix_attempt_figures", "state", "outcome", "lease_no"),
        Index(
            "ix_attempt_evidence",
            "node",
            "recorded_at",
            postgresql_where=text("state = 'recorded' AND counted"),
        ),
        Index("ix_attempt_on_cards", "recorded_at", postgresql_where=text("card_seconds > 0")),
        Index("ix_attempt_held", "node", postgresql_where=text("state IN ('leased', 'running')")),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    run_id: Mapped[Id] = mapped_column(ForeignKey("run.id"))
    job_id: Mapped[Id] = mapped_column(ForeignKey("job.id"))
    generation: Mapped[int]
    kind: Mapped[AttemptKind] = mapped_column(choice("kind", AttemptKind))
    start: Mapped[Start] = mapped_column(choice("start", Start))
    state: Mapped[AttemptState] = mapped_column(choice("state", AttemptState))
    # False for a preview, and for an attempt of an earlier generation of its job.
    counted: Mapped[bool] = mapped_column(default=True)
    # The number of the current lease. A result with another number is refused.
    lease_no: Mapped[int] = mapped_column(default=0)
    # Leases that ended without a result although the attempt had started.
    leases_spent: Mapped[int] = mapped_column(default=0)
    node: Mapped[str | None]
    instance: Mapped[str | None]
    created_at: Mapped[datetime]
    queued_at: Mapped[datetime]
    leased_at: Mapped[datetime | None]
    lease_until: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    recorded_at: Mapped[datetime | None]
    outcome: Mapped[Outcome | None] = mapped_column(choice("outcome", Outcome))
    environment_digest: Mapped[str | None] = mapped_column(ForeignKey("environment.digest"))
    # The cards that the attempt ran on, each with the check of its health (`app.runs.lifecycle.doubt`).
    cards: Mapped[list[str] | None]
    # How long it had its cards, for all of them together. NULL without cards, on rows older than this column,
    # and for contributed attempts.
    card_seconds: Mapped[float | None]
    # The Result without its environment, which has a row of its own.
    result: Mapped[dict[str, Any] | None]
