"""Webhooks and their deliveries: by owner, those that are due, and the ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.models import TokenRow, WebhookDeliveryRow, WebhookRow

# Deliveries that one statement deletes.
AT_ONCE = 5000
# Two transactions of one owner do not both add the last webhook that is allowed.
_LOCK = func.pg_advisory_xact_lock(func.hashtext("samehere webhooks"))


def lock_webhooks(session: Session) -> None:
    """Let no other transaction add a webhook until this one ends."""
    session.execute(select(_LOCK))


def all_webhooks(session: Session) -> Sequence[WebhookRow]:
    """All webhooks, locked."""
    return session.scalars(select(WebhookRow).order_by(WebhookRow.id).with_for_update()).all()


def webhooks_of(session: Session, owner: str | None) -> Sequence[WebhookRow]:
    """The webhooks of an owner, newest first."""
    statement = select(WebhookRow).where(WebhookRow.owner.is_not_distinct_from(owner))
    return session.scalars(statement.order_by(WebhookRow.id.desc())).all()


def webhook_of(
    session: Session, webhook_id: str, *, owner: str | None, lock: bool = False
) -> WebhookRow | None:
    """A webhook, if this is its owner."""
    statement = select(WebhookRow).where(
        WebhookRow.id == webhook_id, WebhookRow.owner.is_not_distinct_from(owner)
    )
    return session.scalar(statement.with_for_update() if lock else statement)


def subscribers(session: Session, owner: str | None, kind: str) -> Sequence[str]:
    """The ids of the webhooks of an owner that want events of this kind."""
    statement = select(WebhookRow.id).where(
        WebhookRow.owner.is_not_distinct_from(owner),
        WebhookRow.stopped_at.is_(None),
        WebhookRow.events.contains([kind]),
    )
    return session.scalars(statement).all()


def add_deliveries(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add deliveries. One whose subject its webhook has had before is left out."""
    if rows:
        session.execute(insert(WebhookDeliveryRow).on_conflict_do_nothing(), rows)


def deliveries(
    session: Session, webhook_id: str, *, before: str | None, limit: int
) -> Sequence[WebhookDeliveryRow]:
    """Deliveries of a webhook, newest first."""
    statement = select(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook_id == webhook_id)
    if before is not None:
        statement = statement.where(WebhookDeliveryRow.id < before)
    return session.scalars(statement.order_by(WebhookDeliveryRow.id.desc()).limit(limit)).all()


def delivery_of(session: Session, webhook_id: str, delivery_id: str) -> WebhookDeliveryRow | None:
    """A delivery of a webhook, locked."""
    statement = select(WebhookDeliveryRow).where(
        WebhookDeliveryRow.id == delivery_id, WebhookDeliveryRow.webhook_id == webhook_id
    )
    return session.scalar(statement.with_for_update())


def delete_webhook(session: Session, webhook_id: str) -> None:
    """Delete a webhook with all its deliveries."""
    session.execute(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook_id == webhook_id))
    session.execute(delete(WebhookRow).where(WebhookRow.id == webhook_id))


def take_due(session: Session, *, moment: datetime, busy_until: datetime) -> WebhookRow | None:
    """Take the webhook with due deliveries that was served least recently. Nobody else takes it until then.

    A webhook whose token was revoked gets nothing.
    """
    due = exists().where(
        WebhookDeliveryRow.webhook_id == WebhookRow.id,
        WebhookDeliveryRow.state == "waiting",
        WebhookDeliveryRow.next_at <= moment,
    )
    valid_owner = exists().where(TokenRow.id == WebhookRow.owner, TokenRow.revoked_at.is_(None))
    statement = (
        select(WebhookRow)
        .where(
            WebhookRow.stopped_at.is_(None),
            or_(WebhookRow.busy_until.is_(None), WebhookRow.busy_until <= moment),
            or_(WebhookRow.owner.is_(None), valid_owner),
            due,
        )
        .order_by(WebhookRow.busy_until.asc().nulls_first(), WebhookRow.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    webhook = session.scalar(statement)
    if webhook is not None:
        webhook.busy_until = busy_until
    return webhook


def due_deliveries(
    session: Session, webhook_id: str, *, moment: datetime, limit: int
) -> Sequence[WebhookDeliveryRow]:
    """The due deliveries of a webhook, oldest first."""
    statement = select(WebhookDeliveryRow).where(
        WebhookDeliveryRow.webhook_id == webhook_id,
        WebhookDeliveryRow.state == "waiting",
        WebhookDeliveryRow.next_at <= moment,
    )
    return session.scalars(statement.order_by(WebhookDeliveryRow.id).limit(limit)).all()


def postpone(session: Session, webhook_id: str, *, until: datetime) -> None:
    """Let all waiting deliveries of a webhook wait at least until then."""
    _set_next(session, webhook_id, WebhookDeliveryRow.next_at < until, until)


def hasten(session: Session, webhook_id: str, *, moment: datetime) -> None:
    """Make those deliveries due that were never tried, and wait only because the receiver was away."""
    untried = func.jsonb_array_length(WebhookDeliveryRow.tries) == 0
    _set_next(session, webhook_id, untried & (WebhookDeliveryRow.next_at > moment), moment)


def _set_next(session: Session, webhook_id: str, condition: Any, moment: datetime) -> None:
    session.execute(
        update(WebhookDeliveryRow)
        .where(WebhookDeliveryRow.webhook_id == webhook_id, WebhookDeliveryRow.state == "waiting", condition)
        .values(next_at=moment)
        .execution_options(synchronize_session=False)
    )


def last_success(session: Session, webhook_id: str) -> datetime | None:
    """When the receiver last took an event."""
    return session.scalar(
        select(func.max(WebhookDeliveryRow.ended_at)).where(
            WebhookDeliveryRow.webhook_id == webhook_id, WebhookDeliveryRow.state == "delivered"
        )
    )


def delete_ended(session: Session, *, before: datetime) -> int:
    """Delete deliveries that ended before a moment, a few thousand at most. Returns their number."""
    ids = (
        select(WebhookDeliveryRow.id)
        .where(WebhookDeliveryRow.state != "waiting", WebhookDeliveryRow.ended_at < before)
        .limit(AT_ONCE)
    )
    rows: Collection[str] = session.scalars(
        delete(WebhookDeliveryRow)
        .where(WebhookDeliveryRow.id.in_(ids))
        .returning(WebhookDeliveryRow.id)
        .execution_options(synchronize_session=False)
    ).all()
    return len(rows)
