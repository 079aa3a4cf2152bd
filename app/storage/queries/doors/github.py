"""Events from GitHub, and the threads in which we post: those that are due, and the ends."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.judging.judgement import SIGHTINGS, Verdict
from app.storage.models import GithubDeliveryRow, GithubThreadRow, ReportRow

# Events that one statement deletes.
AT_ONCE = 5000


def add_delivery(session: Session, values: dict[str, Any]) -> bool:
    """Add an event. False if it came before, under this delivery id or with this body."""
    statement = insert(GithubDeliveryRow).values(values).on_conflict_do_nothing()
    return session.scalar(statement.returning(GithubDeliveryRow.id)) is not None


def take_delivery(session: Session, *, moment: datetime, until: datetime) -> GithubDeliveryRow | None:
    """Take the event that has been due for longest. Nobody else takes it until then."""
    statement = (
        select(GithubDeliveryRow)
        .where(GithubDeliveryRow.state == "waiting", GithubDeliveryRow.next_at <= moment)
        .order_by(GithubDeliveryRow.next_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = session.scalar(statement)
    if row is not None:
        row.next_at, row.tries = until, row.tries + 1
    return row


def delivery(session: Session, delivery_id: str) -> GithubDeliveryRow | None:
    """An event, locked."""
    return session.get(GithubDeliveryRow, delivery_id, with_for_update=True)


def take_thread(session: Session, *, moment: datetime, until: datetime) -> GithubThreadRow | None:
    """Take a thread that is due: its run goes on or has ended, or the verdict of its report flipped."""
    verdict = func.coalesce(ReportRow.overruled, ReportRow.verdict)
    seen, absent = tuple(SIGHTINGS), Verdict.NOT_REPRODUCED
    flipped = or_(
        and_(GithubThreadRow.posted_verdict.in_(seen), verdict == absent),
        and_(GithubThreadRow.posted_verdict == absent, verdict.in_(seen)),
    )
    statement = (
        select(GithubThreadRow)
        .outerjoin(ReportRow, ReportRow.id == GithubThreadRow.report_id)
        .where(
            GithubThreadRow.next_at <= moment,
            or_(
                GithubThreadRow.state == "following",
                and_(
                    GithubThreadRow.state == "settled",
                    GithubThreadRow.is_pull.is_(False),
                    ReportRow.closed_at.is_(None),
                    ReportRow.withdrawn_at.is_(None),
                    flipped,
                ),
            ),
        )
        .order_by(GithubThreadRow.next_at)
        .limit(1)
        .with_for_update(skip_locked=True, of=GithubThreadRow)
    )
    row = session.scalar(statement)
    if row is not None:
        row.next_at, row.tries = until, row.tries + 1
    return row


def thread(session: Session, thread_id: str) -> GithubThreadRow | None:
    """A thread, locked."""
    return session.get(GithubThreadRow, thread_id, with_for_update=True)


def thread_at(session: Session, repository: str, number: int) -> GithubThreadRow | None:
    """The thread of an issue or a pull request, locked."""
    statement = select(GithubThreadRow).where(
        GithubThreadRow.repository == repository, GithubThreadRow.number == number
    )
    return session.scalar(statement.with_for_update())


def delete_ended_deliveries(session: Session, *, before: datetime) -> int:
    """Delete events that ended before a moment, a few thousand at most. Returns their number."""
    ids = (
        select(GithubDeliveryRow.id)
        .where(GithubDeliveryRow.state != "waiting", GithubDeliveryRow.ended_at < before)
        .limit(AT_ONCE)
    )
    rows: Collection[str] = session.scalars(
        delete(GithubDeliveryRow)
        .where(GithubDeliveryRow.id.in_(ids))
        .returning(GithubDeliveryRow.id)
        .execution_options(synchronize_session=False)
    ).all()
    return len(rows)
