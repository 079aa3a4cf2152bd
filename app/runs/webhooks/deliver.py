"""Sends waiting events. No database session is open while a receiver is spoken to.

One sender serves a webhook at a time, oldest event first. If the process ends in between, the hold on the
webhook runs out and the event is sent again under the same id: each arrives at least once.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.errors import SetupError
from app.runs.webhooks.post import Outcome, Post
from app.runs.webhooks.sealing import unseal
from app.runs.webhooks.signature import signatures
from app.settings import ServiceSettings
from app.storage.models import WebhookDeliveryRow, WebhookRow
from app.storage.queries.doors import webhooks as queries

log = structlog.get_logger(__name__)

# Events that a sender sends to one webhook before others get their turn, and the seconds after which it
# begins no further one: a receiver that takes each event slowly would hold a sender for long.
AT_ONCE = 50
TURN_SECONDS = 20.0
# Beyond the deadline of a request: for the resolution of a name, and for the database.
HOLD_SECONDS = 90.0
# A wait is longer or shorter by up to this part of it, so that receivers are not hit by all at once.
JITTER = 0.2
USER_AGENT = "samehere"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    id: str
    body: str
    tries: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """The due events of one webhook, with all that sending needs."""

    webhook_id: str
    url: str
    keys: tuple[str, ...]
    events: tuple[_Event, ...]


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The work of one sender of webhooks."""

    factory: sessionmaker[Session]
    settings: ServiceSettings

    def step(self) -> int:
        """Send what is due for one webhook; how many events were tried."""
        return deliver_due(self.factory, settings=self.settings)

    def forget_old(self) -> None:
        """Delete deliveries that ended long ago."""
        forget_old(self.factory, settings=self.settings)


def deliver_due(factory: sessionmaker[Session], *, settings: ServiceSettings) -> int:
    """Send the due events of one webhook. Returns how many were tried; 0 if nothing is due."""
    with factory.begin() as session:
        batch = _take(session, settings=settings)
    if batch is None:
        return 0
    tried, end = 0, time.monotonic() + TURN_SECONDS
    with Post(seconds=settings.webhook_seconds, private=settings.webhook_private) as post:
        for event in batch.events:
            moment = now()
            outcome = post.send(batch.url, _headers(batch, event, moment), event.body.encode())
            tried += 1
            with factory.begin() as session:
                goes_on = _store(session, batch, event, outcome, moment=moment, settings=settings)
            if not goes_on or time.monotonic() > end:
                break
    with factory.begin() as session:
        _release(session, batch.webhook_id)
    return tried


def forget_old(factory: sessionmaker[Session], *, settings: ServiceSettings) -> None:
    """Delete deliveries that ended long ago, some of them in each round."""
    with factory.begin() as session:
        queries.delete_ended(session, before=now() - timedelta(days=settings.webhook_log_days))


def _take(session: Session, *, settings: ServiceSettings) -> _Batch | None:
    moment = now()
    hold = timedelta(seconds=settings.webhook_seconds + HOLD_SECONDS)
    row = queries.take_due(session, moment=moment, busy_until=moment + hold)
    if row is None:
        return None
    try:
        keys = tuple(unseal(key, settings) for key in _stored_keys(row, moment))
    except SetupError as error:
        # Others are served first, until the operator has mended it.
        log.warning("webhook_key", webhook=row.id, problem=error.message)
        return None
    return _Batch(
        webhook_id=row.id,
        url=row.url,
        keys=keys,
        events=tuple(
            _Event(id=each.id, body=each.body, tries=len(each.tries), created_at=each.created_at)
            for each in queries.due_deliveries(session, row.id, moment=moment, limit=AT_ONCE)
        ),
    )


def _stored_keys(row: WebhookRow, moment: datetime) -> tuple[str, ...]:
    """The keys that sign: the present one, and for a while the one before it."""
    if row.earlier_key is None or row.earlier_until is None or row.earlier_until <= moment:
        return (row.key,)
    return row.key, row.earlier_key


def _headers(batch: _Batch, event: _Event, moment: datetime) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": event.id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": signatures(batch.keys, event_id=event.id, moment=moment, body=event.body),
    }


def _store(
    session: Session,
    batch: _Batch,
    event: _Event,
    outcome: Outcome,
    *,
    moment: datetime,
    settings: ServiceSettings,
) -> bool:
    """Store one try, and hold the webhook for the next one. False if the next event has to wait."""
    webhook = session.get(WebhookRow, batch.webhook_id, with_for_update=True)
    delivery = queries.delivery_of(session, batch.webhook_id, event.id)
    if webhook is None or delivery is None:
        # The owner removed it.
        return False
    webhook.busy_until = now() + timedelta(seconds=settings.webhook_seconds + HOLD_SECONDS)
    one_try = {
        "at": moment.isoformat(),
        "status": outcome.status,
        "problem": outcome.problem,
        "seconds": outcome.seconds,
    }
    delivery.tries = [*delivery.tries, one_try]
    if outcome.problem is None:
        delivery.state, delivery.ended_at = "delivered", now()
        session.flush()
        if event.tries:
            queries.hasten(session, webhook.id, moment=now())
        return webhook.stopped_at is None
    log.info("webhook_failed", webhook=webhook.id, delivery=event.id, problem=outcome.problem)
    if outcome.problem == "gone":
        return _stop(session, webhook, "gone")
    wait = wait_seconds(event.tries, retry_after=outcome.retry_after, settings=settings)
    delivery.next_at = now() + timedelta(seconds=wait)
    if delivery.next_at > event.created_at + timedelta(days=settings.webhook_days):
        _give_up(session, webhook, delivery)
    if outcome.is_away:
        session.flush()
        queries.postpone(session, webhook.id, until=delivery.next_at)
    return webhook.stopped_at is None and not outcome.is_away


def wait_seconds(tries: int, *, retry_after: float | None, settings: ServiceSettings) -> float:
    """The seconds until the next try: each wait is twice the last, up to the longest one."""
    longest = settings.webhook_retry_most_seconds
    wait = min(settings.webhook_retry_seconds * 2.0 ** min(tries, 60), longest)
    wait *= 1 + JITTER * (secrets.randbelow(2001) / 1000 - 1)
    return wait if retry_after is None else max(wait, min(retry_after, longest))


def _give_up(session: Session, webhook: WebhookRow, delivery: WebhookDeliveryRow) -> None:
    """End a delivery that failed for days. If nothing else arrived since, the webhook is stopped."""
    delivery.state, delivery.ended_at = "given_up", now()
    session.flush()
    success = queries.last_success(session, webhook.id)
    if success is None or success < delivery.created_at:
        _stop(session, webhook, "silent")


def _stop(session: Session, webhook: WebhookRow, reason: str) -> bool:
    """Send nothing more to a webhook. Events that wait are sent when its owner resends or pings."""
    webhook.stopped_at, webhook.stop_reason = now(), "gone" if reason == "gone" else "silent"
    session.flush()
    log.info("webhook_stopped", webhook=webhook.id, reason=reason)
    return False


def _release(session: Session, webhook_id: str) -> None:
    webhook = session.get(WebhookRow, webhook_id, with_for_update=True)
    if webhook is not None:
        webhook.busy_until = now()
