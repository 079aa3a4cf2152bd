"""Counts for the metrics, and reads the latest uses of cards. Each query is bounded and uses an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.ids import id_at
from app.states import FOREGROUND
from app.storage.models import AttemptRow, JobRow, RunRow


def attempts_by_state(session: Session) -> dict[str, int]:
    """Attempts in each state, with an index only."""
    return dict(session.execute(select(AttemptRow.state, func.count()).group_by(AttemptRow.state)).all())


def runs_by_state(session: Session) -> dict[str, int]:
    """Runs in each state."""
    return dict(session.execute(select(RunRow.state, func.count()).group_by(RunRow.state)).all())


def oldest_queued(session: Session) -> datetime | None:
    """The time since which the oldest queued attempt waits."""
    return session.scalar(select(func.min(AttemptRow.queued_at)).where(AttemptRow.state == "queued"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CardUseRow:
    """One attempt that had cards: `cards` as in `AttemptRow`, and the seconds for all of them together."""

    node: str
    cards: Sequence[str]
    seconds: float
    ended_at: datetime


def latest_card_uses(session: Session, *, since: datetime, most: int) -> list[CardUseRow]:
    """The latest attempts that had cards and ended since then, newest first, at most `most`."""
    rows = session.execute(
        select(AttemptRow.node, AttemptRow.cards, AttemptRow.card_seconds, AttemptRow.recorded_at)
        .where(AttemptRow.card_seconds > 0, AttemptRow.recorded_at >= since)
        .order_by(AttemptRow.recorded_at.desc())
        .limit(most)
    )
    return [
        CardUseRow(node=row.node, cards=row.cards or (), seconds=row.card_seconds, ended_at=row.recorded_at)
        for row in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardJobRow:
    """A cell that wants a card: when its run was submitted, and what its attempts took until now.

    `first_at` is the end of its first counted attempt. `is_submitted`: somebody waits for the run.
    """

    node: str | None
    run_id: str
    submitted_at: datetime
    is_submitted: bool
    has_verdict: bool
    first_at: datetime | None
    card_seconds: float


def latest_card_jobs(
    session: Session, *, since: datetime, most: int
) -> tuple[list[CardJobRow], datetime | None]:
    """The cells on cards of the latest `most` runs that were submitted since then.

    The second value is the time of the earliest of these runs if earlier ones were left out, else None.
    """
    runs = session.execute(
        select(RunRow.id, RunRow.created_at)
        .where(RunRow.id >= id_at(since), RunRow.contributed_by.is_(None))
        .order_by(RunRow.id.desc())
        .limit(most + 1)
    ).all()
    is_cut = len(runs) > most
    runs = runs[:most]
    attempts = (
        select(
            func.min(AttemptRow.recorded_at).filter(AttemptRow.counted).label("first_at"),
            func.sum(AttemptRow.card_seconds).label("card_seconds"),
        )
        .where(AttemptRow.job_id == JobRow.id, AttemptRow.state == "recorded")
        .lateral()
    )
    rows = session.execute(
        select(
            JobRow.node,
            JobRow.run_id,
            RunRow.created_at,
            RunRow.trigger.in_(FOREGROUND).label("is_submitted"),
            JobRow.verdict.is_not(None).label("has_verdict"),
            attempts.c.first_at,
            attempts.c.card_seconds,
        )
        .select_from(JobRow)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .join(attempts, true())
        .where(JobRow.run_id.in_([run.id for run in runs]), JobRow.target["device"].astext == "cuda")
    )
    jobs = [
        CardJobRow(
            node=row.node,
            run_id=row.run_id,
            submitted_at=row.created_at,
            is_submitted=row.is_submitted,
            has_verdict=row.has_verdict,
            first_at=row.first_at,
            card_seconds=row.card_seconds or 0.0,
        )
        for row in rows
    ]
    return jobs, runs[-1].created_at if is_cut else None
