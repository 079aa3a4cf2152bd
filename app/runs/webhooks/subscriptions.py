"""Webhooks by their owner: add, list, rotate the key, try, remove, and read the log.

The owner is the token that made a webhook. It gets the news of what that token submitted, and nobody else
sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.ids import is_id, new_id
from app.runs.rows.page import Page, page
from app.runs.webhooks.address import check_url
from app.runs.webhooks.news import NEWS_KINDS, PING, add_event
from app.runs.webhooks.post import Problem
from app.runs.webhooks.sealing import seal
from app.runs.webhooks.signature import Scheme, new_key, public_key, scheme_of
from app.settings import ServiceSettings
from app.storage.models import WebhookDeliveryRow, WebhookRow
from app.storage.queries.doors import webhooks as queries


class Webhook(BaseModel):
    """A webhook, as its owner sees it."""

    model_config = ConfigDict(frozen=True)

    id: str
    url: str
    events: list[str]
    signature: Scheme
    public_key: str | None = Field(description="`whpk_…`, with which to verify; null for HMAC")
    earlier_key_until: datetime | None = Field(
        description="until then the key before the last rotation signs as well"
    )
    stopped_at: datetime | None = Field(description="since then nothing is sent, until an event is resent")
    stop_reason: Literal["gone", "silent"] | None = Field(
        description="gone: the receiver answered 410; silent: it took nothing for days"
    )
    created_at: datetime


class NewWebhook(Webhook):
    """A webhook whose key was just made."""

    secret: str | None = Field(description="`whsec_…`, shown only now; null for Ed25519")


class Try(BaseModel):
    """One try to deliver an event."""

    at: datetime
    status: int | None = Field(description="the HTTP status of the answer, if there was one")
    problem: Problem | None = Field(description="null if the receiver took the event")
    seconds: float


class Delivery(BaseModel):
    """An event for a webhook, with every try to deliver it."""

    id: str = Field(description="the header `webhook-id`, the same in every try")
    type: str
    state: Literal["waiting", "delivered", "given_up"]
    next_at: datetime | None = Field(description="when it is tried next; null if it is not")
    tries: list[Try]
    created_at: datetime
    ended_at: datetime | None


def _facts(row: WebhookRow) -> dict[str, object]:
    earlier = row.earlier_until if row.earlier_key is not None else None
    return {
        "id": row.id,
        "url": row.url,
        "events": row.events,
        "signature": scheme_of(row.key),
        "public_key": public_key(row.key),
        "earlier_key_until": earlier if earlier is not None and earlier > now() else None,
        "stopped_at": row.stopped_at,
        "stop_reason": row.stop_reason,
        "created_at": row.created_at,
    }


def _webhook(row: WebhookRow) -> Webhook:
    return Webhook.model_validate(_facts(row))


def _with_key(row: WebhookRow, key: str) -> NewWebhook:
    secret = key if scheme_of(key) == "hmac" else None
    return NewWebhook.model_validate({**_facts(row), "secret": secret})


def _delivery(row: WebhookDeliveryRow) -> Delivery:
    return Delivery(
        id=row.id,
        type=row.kind,
        state=row.state,
        next_at=row.next_at if row.state == "waiting" else None,
        tries=[Try.model_validate(each) for each in row.tries],
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def add_webhook(
    session: Session,
    url: str,
    *,
    owner: str | None,
    events: Iterable[str],
    scheme: Scheme,
    settings: ServiceSettings,
) -> NewWebhook:
    """Add a webhook; its secret is shown only now. Raises InputError, ConflictError."""
    chosen = list(dict.fromkeys(events)) or list(NEWS_KINDS)
    if not set(chosen) <= set(NEWS_KINDS):
        raise InputError(
            f"There is no such event. The events are: {', '.join(NEWS_KINDS)}.",
            code="unknown_event",
            field="events",
        )
    address = check_url(url, private=settings.webhook_private)
    queries.lock_webhooks(session)
    if len(queries.webhooks_of(session, owner)) >= settings.webhooks:
        raise ConflictError(
            f"A token has at most {settings.webhooks} webhooks. Remove one first.", code="too_many_webhooks"
        )
    key = new_key(scheme)
    row = WebhookRow(
        id=new_id(), owner=owner, url=address, events=chosen, key=seal(key, settings), created_at=now()
    )
    session.add(row)
    session.flush()
    return _with_key(row, key)


def list_webhooks(session: Session, *, owner: str | None) -> list[Webhook]:
    """The webhooks of an owner, newest first."""
    return [_webhook(row) for row in queries.webhooks_of(session, owner)]


def _row(session: Session, webhook_id: str, *, owner: str | None, lock: bool = False) -> WebhookRow:
    row = queries.webhook_of(session, webhook_id, owner=owner, lock=lock) if is_id(webhook_id) else None
    if row is None:
        raise NotFoundError("You have no webhook with this id.")
    return row


def get_webhook(session: Session, webhook_id: str, *, owner: str | None) -> Webhook:
    """A webhook of an owner. Raises NotFoundError."""
    return _webhook(_row(session, webhook_id, owner=owner))


def remove_webhook(session: Session, webhook_id: str, *, owner: str | None) -> Webhook:
    """Remove a webhook with its log, and return it. Raises NotFoundError."""
    row = _row(session, webhook_id, owner=owner, lock=True)
    webhook = _webhook(row)
    queries.delete_webhook(session, row.id)
    return webhook


def rotate_key(
    session: Session, webhook_id: str, *, owner: str | None, scheme: Scheme | None, settings: ServiceSettings
) -> NewWebhook:
    """Give a webhook a new key, of the same scheme by default. For a while the old one signs as well.

    Raises NotFoundError.
    """
    row = _row(session, webhook_id, owner=owner, lock=True)
    row.earlier_key = row.key
    row.earlier_until = now() + timedelta(hours=settings.webhook_rotation_hours)
    key = new_key(scheme or scheme_of(row.key))
    row.key = seal(key, settings)
    return _with_key(row, key)


def ping(session: Session, webhook_id: str, *, owner: str | None) -> Delivery:
    """Send an event `webhook.ping`, also to a webhook that was stopped. Raises NotFoundError."""
    row = _row(session, webhook_id, owner=owner, lock=True)
    row.stopped_at = row.stop_reason = None
    (delivery_id,) = add_event(session, [row.id], PING, {"webhook": row.id})
    delivery = queries.delivery_of(session, row.id, delivery_id)
    if delivery is None:
        raise AssertionError("unreachable")
    return _delivery(delivery)


def list_deliveries(
    session: Session, webhook_id: str, *, owner: str | None, cursor: str | None, limit: int
) -> Page[Delivery]:
    """The log of a webhook, newest first. Raises NotFoundError, InputError."""
    row = _row(session, webhook_id, owner=owner)
    rows = page(
        lambda before, most: queries.deliveries(session, row.id, before=before, limit=most),
        cursor=cursor,
        limit=limit,
    )
    return rows.map(_delivery)


def resend(session: Session, webhook_id: str, delivery_id: str, *, owner: str | None) -> Delivery:
    """Send an event once more, under its id, also to a webhook that was stopped. Raises NotFoundError."""
    row = _row(session, webhook_id, owner=owner, lock=True)
    delivery = queries.delivery_of(session, row.id, delivery_id) if is_id(delivery_id) else None
    if delivery is None:
        raise NotFoundError("This webhook has no delivery with this id.")
    row.stopped_at = row.stop_reason = None
    delivery.state, delivery.next_at, delivery.ended_at = "waiting", now(), None
    session.flush()
    return _delivery(delivery)
