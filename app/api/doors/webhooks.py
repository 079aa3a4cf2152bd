"""Webhooks over REST: add, list, rotate, ping, remove, and the log of deliveries."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from app.api.bodies import Body, PageBody, Words
from app.http.checked_route import CheckedRoute
from app.http.problems import BODY, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import WebhookOwner
from app.runs.rows.page import Page
from app.runs.webhooks import subscriptions
from app.runs.webhooks.address import URL_CHARACTERS
from app.runs.webhooks.news import NEWS_KINDS, NewsKind
from app.runs.webhooks.signature import Scheme

router = APIRouter(tags=["webhooks"], route_class=CheckedRoute)
_ONE = problem_responses(401, 404)


class WebhookBody(Body):
    """The address of a receiver, the events to send, and the kind of signature."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://bot.example/news", "events": ["run.finished"]}]},
    )

    url: Words = Field(min_length=1, max_length=URL_CHARACTERS, description="an https address")
    events: list[NewsKind] = Field(
        default_factory=lambda: list(NEWS_KINDS), min_length=1, max_length=len(NEWS_KINDS)
    )
    signature: Scheme = Field(default="hmac", description="hmac: one secret; ed25519: a public key")


class RotationBody(Body):
    """The kind of signature of the new key; by default that of the old one."""

    signature: Scheme | None = None


@router.post(
    "/webhooks", operation_id="add_webhook", status_code=201, responses=problem_responses(401, 409, *BODY)
)
def post_webhook(
    body: WebhookBody, session: SessionDep, settings: SettingsDep, owner: WebhookOwner
) -> subscriptions.NewWebhook:
    """Get news of what you submit, by HTTP requests to an address of yours, signed by Standard Webhooks.

    The secret is shown only now.
    """
    return subscriptions.add_webhook(
        session, body.url, owner=owner, events=body.events, scheme=body.signature, settings=settings
    )


@router.get("/webhooks", operation_id="list_webhooks", responses=problem_responses(401, 422))
def get_webhooks(session: SessionDep, owner: WebhookOwner) -> PageBody[subscriptions.Webhook]:
    """Your webhooks, newest first, without their secrets."""
    return PageBody.of(Page(tuple(subscriptions.list_webhooks(session, owner=owner))))


@router.get("/webhooks/{webhook_id}", operation_id="get_webhook", responses=_ONE)
def get_webhook(webhook_id: str, session: SessionDep, owner: WebhookOwner) -> subscriptions.Webhook:
    """One of your webhooks."""
    return subscriptions.get_webhook(session, webhook_id, owner=owner)


@router.delete("/webhooks/{webhook_id}", operation_id="remove_webhook", responses=_ONE)
def delete_webhook(webhook_id: str, session: SessionDep, owner: WebhookOwner) -> subscriptions.Webhook:
    """Remove a webhook with its log. Events that wait are not sent any more."""
    return subscriptions.remove_webhook(session, webhook_id, owner=owner)


@router.post(
    "/webhooks/{webhook_id}/rotate",
    operation_id="rotate_webhook_key",
    responses=problem_responses(401, 404, *BODY),
)
def post_rotate(
    *,
    webhook_id: str,
    body: RotationBody | None = None,
    session: SessionDep,
    settings: SettingsDep,
    owner: WebhookOwner,
) -> subscriptions.NewWebhook:
    """Give a webhook a new key. For a while, each event is signed by the old one as well."""
    scheme = None if body is None else body.signature
    return subscriptions.rotate_key(session, webhook_id, owner=owner, scheme=scheme, settings=settings)


@router.post("/webhooks/{webhook_id}/ping", operation_id="ping_webhook", status_code=202, responses=_ONE)
def post_ping(webhook_id: str, session: SessionDep, owner: WebhookOwner) -> subscriptions.Delivery:
    """Send an event `webhook.ping`. A webhook that was stopped is sent to again."""
    return subscriptions.ping(session, webhook_id, owner=owner)


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    operation_id="list_webhook_deliveries",
    responses=problem_responses(401, 404, 422),
)
def get_deliveries(
    webhook_id: str,
    session: SessionDep,
    owner: WebhookOwner,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[subscriptions.Delivery]:
    """The log of a webhook, newest first: each event with every try to deliver it."""
    return PageBody.of(
        subscriptions.list_deliveries(session, webhook_id, owner=owner, cursor=cursor, limit=limit)
    )


@router.post(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/resend",
    operation_id="resend_webhook_delivery",
    status_code=202,
    responses=_ONE,
)
def post_resend(
    webhook_id: str, delivery_id: str, session: SessionDep, owner: WebhookOwner
) -> subscriptions.Delivery:
    """Send an event once more, under the same id. A webhook that was stopped is sent to again."""
    return subscriptions.resend(session, webhook_id, delivery_id, owner=owner)
