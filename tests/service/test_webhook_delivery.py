"""Deliveries under faults: a receiver that is away, slow, refuses or is gone, and a sender that dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from stage import Stage, together
from webhook_receiver import Receiver, Reply, closed_port, receiving

from app.clock import now
from app.runs.webhooks import deliver
from app.runs.webhooks.deliver import deliver_due, forget_old, wait_seconds
from app.runs.webhooks.news import add_event
from app.runs.webhooks.subscriptions import (
    Delivery,
    NewWebhook,
    add_webhook,
    get_webhook,
    list_deliveries,
    ping,
    resend,
    rotate_key,
)
from app.settings import ServiceSettings
from app.storage.models import WebhookDeliveryRow, WebhookRow

HUNDRED = 100


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def private(stage: Stage, **changed: object) -> ServiceSettings:
    """Settings that allow loopback."""
    return stage.settings.model_copy(update={"webhook_private": True, "webhook_seconds": 5.0, **changed})


def subscribe(stage: Stage, url: str, **more: Any) -> NewWebhook:
    with stage.session() as session:
        return add_webhook(
            session, url, **{"owner": None, "events": [], "scheme": "hmac", "settings": private(stage)} | more
        )


def enqueue(stage: Stage, webhook: NewWebhook, count: int = 1) -> list[str]:
    """Store events; their ids, oldest first."""
    with stage.session() as session:
        return [
            delivery_id
            for number in range(count)
            for delivery_id in add_event(session, [webhook.id], "webhook.ping", {"number": number})
        ]


def deliver_all(stage: Stage, **changed: object) -> int:
    """Send whatever is due; how many tries that took."""
    tries = 0
    while step := deliver_due(stage.factory, settings=private(stage, **changed)):
        tries += step
    return tries


def let_pass(stage: Stage, **time: float) -> None:
    """Make all waits and all events so much older."""
    shift = timedelta(**time)
    with stage.session() as session:
        session.execute(
            update(WebhookDeliveryRow).values(
                next_at=WebhookDeliveryRow.next_at - shift,
                created_at=WebhookDeliveryRow.created_at - shift,
                ended_at=WebhookDeliveryRow.ended_at - shift,
            )
        )
        session.execute(update(WebhookRow).values(busy_until=WebhookRow.busy_until - shift))


def log_of(stage: Stage, webhook: NewWebhook) -> list[Delivery]:
    """The log, oldest first."""
    with stage.session() as session:
        page = list_deliveries(session, webhook.id, owner=None, cursor=None, limit=200)
    return list(reversed(page.items))


def test_an_event_arrives_once_signed_and_is_logged(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    assert webhook.secret is not None
    (event_id,) = enqueue(stage, webhook)
    assert deliver_all(stage) == 1
    (arrival,) = receiver.arrivals
    assert arrival.id == event_id
    event = arrival.verify(webhook.secret)
    assert (event["type"], event["data"]) == ("webhook.ping", {"number": 0})
    (delivery,) = log_of(stage, webhook)
    assert (delivery.id, delivery.state, delivery.next_at) == (event_id, "delivered", None)
    assert [(each.status, each.problem) for each in delivery.tries] == [(204, None)]


def test_a_hundred_events_wait_for_a_receiver_that_is_away(stage: Stage) -> None:
    port = closed_port()
    webhook = subscribe(stage, f"http://127.0.0.1:{port}/news")
    ids = enqueue(stage, webhook, HUNDRED)
    # One try finds that nobody listens. The others are not tried in vain.
    assert deliver_all(stage) == 1
    let_pass(stage, seconds=60)
    assert deliver_all(stage) == 1
    assert [len(each.tries) for each in log_of(stage, webhook)] == [2] + [0] * (HUNDRED - 1)
    with receiving(port) as receiver:
        let_pass(stage, seconds=60)
        assert deliver_all(stage) == HUNDRED
        assert [arrival.id for arrival in receiver.arrivals] == ids
        for arrival in receiver.arrivals:
            arrival.verify(webhook.secret or "")
    assert {each.state for each in log_of(stage, webhook)} == {"delivered"}


def test_a_receiver_that_refuses_one_event_gets_the_others(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    ids = enqueue(stage, webhook, 5)
    receiver.reply = lambda arrival: Reply(status=500 if arrival.id == ids[1] else 200)
    assert deliver_all(stage) == 5
    assert [each.state for each in log_of(stage, webhook)] == ["delivered", "waiting"] + ["delivered"] * 3
    receiver.reply = lambda _arrival: Reply()
    let_pass(stage, seconds=60)
    assert deliver_all(stage) == 1
    assert receiver.arrivals[-1].id == ids[1]
    # The same id, and a signature of its own time.
    first, last = (arrival for arrival in receiver.arrivals if arrival.id == ids[1])
    assert first.body == last.body
    assert int(last.headers["webhook-timestamp"]) >= int(first.headers["webhook-timestamp"])


def test_slow_redirecting_and_lying_receivers_hold_up_no_other(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as slow, receiving() as redirecting:
        slow.reply = lambda _arrival: Reply(drip_seconds=1.0)
        redirecting.reply = lambda _arrival: Reply(status=302, headers={"Location": receiver.url})
        bad = [subscribe(stage, each.url) for each in (slow, redirecting)]
        good = subscribe(stage, receiver.url)
        for webhook in (*bad, good):
            enqueue(stage, webhook, 3)
        deliver_all(stage, webhook_seconds=0.3)
        assert len(receiver.arrivals) == 3
        problems = [[each.problem for each in log_of(stage, one)[0].tries] for one in bad]
        assert problems == [["too_slow"], ["redirect"]]
    # As soon as private addresses are not allowed, the same webhook reaches nobody.
    enqueue(stage, good)
    assert deliver_due(stage.factory, settings=stage.settings) == 1
    assert [each.problem for each in log_of(stage, good)[-1].tries] == ["private_address"]
    assert len(receiver.arrivals) == 3


def test_a_sender_that_dies_after_the_request_sends_it_again_under_the_same_id(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = subscribe(stage, receiver.url)
    (event_id,) = enqueue(stage, webhook)

    def die(*_parts: object, **_more: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deliver, "_store", die)
        with pytest.raises(KeyboardInterrupt):
            deliver_all(stage)
    # The hold on the webhook has not run out: nobody knows yet that its sender died.
    assert deliver_all(stage) == 0
    let_pass(stage, seconds=200)
    assert deliver_all(stage) == 1
    assert [arrival.id for arrival in receiver.arrivals] == [event_id, event_id]
    assert log_of(stage, webhook)[0].state == "delivered"


def test_several_senders_share_the_webhooks_and_send_nothing_twice(stage: Stage, receiver: Receiver) -> None:
    webhooks = [subscribe(stage, receiver.url) for _ in range(4)]
    ids = {webhook.id: enqueue(stage, webhook, 25) for webhook in webhooks}
    tries = together(*[lambda: deliver_all(stage)] * 4)
    # A sender that found all webhooks taken has ended, so one more round sends the rest.
    assert sum(tries) + deliver_all(stage) == HUNDRED
    arrived = [arrival.id for arrival in receiver.arrivals]
    assert sorted(arrived) == sorted(each for one in ids.values() for each in one)
    for own in ids.values():
        assert [each for each in arrived if each in own] == own


def test_gone_stops_a_webhook_and_a_resend_starts_it(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    ids = enqueue(stage, webhook, 2)
    receiver.reply = lambda _arrival: Reply(status=410)
    assert deliver_all(stage) == 1
    let_pass(stage, days=1)
    assert deliver_all(stage) == 0
    with stage.session() as session:
        assert get_webhook(session, webhook.id, owner=None).stop_reason == "gone"
    receiver.reply = lambda _arrival: Reply()
    with stage.session() as session:
        assert resend(session, webhook.id, ids[0], owner=None).state == "waiting"
    assert deliver_all(stage) == 2
    assert {each.state for each in log_of(stage, webhook)} == {"delivered"}


def test_what_fails_for_days_is_given_up_and_a_ping_tries_again(stage: Stage) -> None:
    port = closed_port()
    webhook = subscribe(stage, f"http://127.0.0.1:{port}/news")
    (event_id,) = enqueue(stage, webhook)
    for _ in range(2):
        deliver_all(stage)
        let_pass(stage, days=3)
    (delivery,) = log_of(stage, webhook)
    assert (delivery.id, delivery.state, len(delivery.tries)) == (event_id, "given_up", 2)
    with stage.session() as session:
        assert get_webhook(session, webhook.id, owner=None).stop_reason == "silent"
        ping(session, webhook.id, owner=None)
    with receiving(port) as receiver:
        assert deliver_all(stage) == 1
        assert [json.loads(arrival.body)["type"] for arrival in receiver.arrivals] == ["webhook.ping"]


def test_both_keys_sign_until_the_rotation_is_over(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    with stage.session() as session:
        second = rotate_key(session, webhook.id, owner=None, scheme=None, settings=stage.settings)
    enqueue(stage, webhook)
    deliver_all(stage)
    for secret in (webhook.secret, second.secret):
        assert receiver.arrivals[0].verify(secret or "")
    with stage.session() as session:
        session.execute(update(WebhookRow).values(earlier_until=now()))
        assert get_webhook(session, webhook.id, owner=None).earlier_key_until is None
    enqueue(stage, webhook)
    deliver_all(stage)
    assert receiver.arrivals[1].headers["webhook-signature"].count("v1,") == 1
    assert receiver.arrivals[1].verify(second.secret or "")


def test_the_receiver_says_when_to_come_again(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    enqueue(stage, webhook, 2)
    receiver.reply = lambda _arrival: Reply(status=503, headers={"Retry-After": "3600"})
    assert deliver_all(stage) == 1
    assert all(
        each.next_at and each.next_at > now() + timedelta(minutes=59) for each in log_of(stage, webhook)
    )


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +99999999999999",
        "Mon, 01 Jan 2024 00:00:00 -9999",
        "9" * 5000,
        "nonsense",
    ],
)
def test_a_wait_that_cannot_be_read_counts_as_none(stage: Stage, receiver: Receiver, value: str) -> None:
    webhook = subscribe(stage, receiver.url)
    enqueue(stage, webhook)
    receiver.reply = lambda _arrival: Reply(status=500, headers={"Retry-After": value})
    assert deliver_all(stage) == 1
    assert [each.status for each in log_of(stage, webhook)[0].tries] == [500]


def test_a_receiver_that_takes_each_event_slowly_lets_others_have_their_turn(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "TURN_SECONDS", 0.0)
    webhook = subscribe(stage, receiver.url)
    enqueue(stage, webhook, 3)
    assert deliver_due(stage.factory, settings=private(stage)) == 1
    assert deliver_all(stage) == 2
    assert {each.state for each in log_of(stage, webhook)} == {"delivered"}


def test_waits_double_up_to_the_longest() -> None:
    settings = ServiceSettings()
    waits = [wait_seconds(tries, retry_after=None, settings=settings) for tries in range(100)]
    for tries, wait in enumerate(waits):
        middle = min(5.0 * 2**tries, 21_600.0)
        assert 0.8 * middle <= wait <= 1.2 * middle
    assert wait_seconds(0, retry_after=600, settings=settings) == 600
    assert wait_seconds(0, retry_after=1e9, settings=settings) == 21_600


def test_the_log_forgets_what_ended_long_ago(stage: Stage, receiver: Receiver) -> None:
    webhook = subscribe(stage, receiver.url)
    enqueue(stage, webhook, 2)
    deliver_all(stage)
    let_pass(stage, days=31)
    enqueue(stage, webhook)
    forget_old(stage.factory, settings=stage.settings)
    with stage.session() as session:
        assert [row.state for row in session.scalars(select(WebhookDeliveryRow))] == ["waiting"]
