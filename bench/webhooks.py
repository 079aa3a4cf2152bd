"""A thousand webhooks to receivers that are away, slow, redirecting, lying about their address, and good.

    .venv/bin/python bench/webhooks.py [--events 1000] [--out bench/results/webhooks.json]

Each of five receivers gets a fifth of the events. Real Postgres, real HTTP on loopback, the service's own
senders. Every wait is shortened by setting the clock of the deliveries back. In the end the receiver that was
away is back, the slow one is fast, and the redirecting one answers itself: each event has to be there, under
one id, and nothing at the door of a name that lies.
"""

from __future__ import annotations

import argparse
import json
import logging
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session, sessionmaker

from app.embedded.postgres import EmbeddedPostgres
from app.runs.webhooks.deliver import deliver_due
from app.runs.webhooks.news import add_event
from app.runs.webhooks.subscriptions import add_webhook
from app.settings import ServiceSettings
from app.storage.migrate import upgrade
from app.storage.models import WebhookDeliveryRow, WebhookRow
from app.storage.session import make_engine, session_factory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from webhook_receiver import Receiver, Reply, closed_port, receiving  # lies beside the tests

SENDERS = 4
# Each failure is a line of the log, which is not what is measured.
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
LYING = "lying.example"
# This address of loopback counts as public here, and the rest of loopback is private as always.
OPEN = "127.0.0.2"
ROUNDS_AT_MOST = 200


def _pretend(trap_port: int) -> None:
    """Let OPEN count as public, and let the lying name lead to the trap on loopback."""
    from app.runs.webhooks import address

    real_check, real_lookup = address.is_public, socket.getaddrinfo

    def lookup(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        if host == LYING:
            host, port = "127.0.0.1", trap_port
        return real_lookup(host, port, *more, **options)

    address.is_public = lambda text: text == OPEN or real_check(text)
    socket.getaddrinfo = lookup  # type: ignore[assignment]


def _subscribe(factory: sessionmaker[Session], url: str, settings: ServiceSettings, events: int) -> list[str]:
    """A webhook with so many events; their ids."""
    with factory.begin() as session:
        webhook = add_webhook(session, url, owner=None, events=[], scheme="hmac", settings=settings)
        ids = []
        for number in range(events):
            ids += add_event(session, [webhook.id], "webhook.ping", {"number": number})
    return ids


def _round(factory: sessionmaker[Session], settings: ServiceSettings) -> None:
    """All senders send whatever is due; then all waits are over."""

    def send() -> None:
        while deliver_due(factory, settings=settings):
            pass

    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with factory.begin() as session:
        session.execute(update(WebhookDeliveryRow).values(next_at=text("now()")))
        session.execute(update(WebhookRow).values(busy_until=None))


def _waiting(factory: sessionmaker[Session]) -> int:
    with factory.begin() as session:
        waits = WebhookDeliveryRow.state == "waiting"
        return session.scalar(select(func.count()).select_from(WebhookDeliveryRow).where(waits)) or 0


def _database(home: Path, stack: ExitStack) -> str:
    """The address of a migrated database of its own."""
    postgres = EmbeddedPostgres(home / "home")
    postgres.start()
    stack.callback(postgres.stop)
    upgrade(postgres.url)
    return postgres.url


def measure(events: int) -> dict[str, Any]:
    each = events // 5
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder, ExitStack() as stack:
        home = Path(folder)
        home.chmod(0o755)
        settings = ServiceSettings(database_url=_database(home, stack), webhook_seconds=0.3)
        engine = make_engine(settings)
        stack.callback(engine.dispose)
        factory = session_factory(engine, None)
        trap = stack.enter_context(receiving())
        good, slow, redirecting = (stack.enter_context(receiving(host=OPEN)) for _ in range(3))
        slow.reply = lambda _arrival: Reply(drip_seconds=1.0)
        redirecting.reply = lambda _arrival: Reply(status=307, headers={"Location": trap.url})
        away_port = closed_port(OPEN)
        _pretend(trap.port)
        urls = {
            "good": good.url,
            "slow": slow.url,
            "redirecting": redirecting.url,
            "away": f"http://{OPEN}:{away_port}/news",
            "lying": f"http://{LYING}:{trap.port}/news",
        }
        subscribing = settings.model_copy(update={"webhook_private": True})
        ids = {name: _subscribe(factory, url, subscribing, each) for name, url in urls.items()}
        began = time.monotonic()
        for _ in range(3):
            _round(factory, settings)
        good_first = len(good.arrivals)
        # The faults are over, but for the lie.
        slow.reply = redirecting.reply = lambda _arrival: Reply()
        slow_before, redirected = len(slow.arrivals), len(redirecting.arrivals)
        back: Receiver = stack.enter_context(receiving(away_port, host=OPEN))
        rounds = 0
        while _waiting(factory) > each and rounds < ROUNDS_AT_MOST:
            _round(factory, settings)
            rounds += 1
        seconds = time.monotonic() - began
        receivers = {"good": good, "slow": slow, "redirecting": redirecting, "away": back}
        missing = {
            name: len(set(ids[name]) - {arrival.id for arrival in one.arrivals})
            for name, one in receivers.items()
        }
        strange = {
            name: len({arrival.id for arrival in one.arrivals} - set(ids[name]))
            for name, one in receivers.items()
        }
        return {
            "events": events,
            "missing": missing,
            "of_other_webhooks": strange,
            "arrived_at_a_private_address": len(trap.arrivals),
            "waiting_for_the_lying_name": _waiting(factory),
            "arrived_while_the_others_failed": good_first,
            "tries_of_slow_and_redirecting_before_the_end_of_the_fault": [slow_before, redirected],
            "sent_more_than_once": sum(len(one.arrivals) for one in receivers.values()) - 4 * each,
            "events_a_second": round(4 * each / seconds, 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/webhooks.json"))
    arguments = parser.parse_args()
    result = {"made_at": datetime.now(UTC).isoformat(timespec="seconds"), **measure(arguments.events)}
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    lost = sum(result["missing"].values()) + sum(result["of_other_webhooks"].values())
    if lost or result["arrived_at_a_private_address"]:
        raise SystemExit("events were lost, mixed up, or sent to a private address")


if __name__ == "__main__":
    main()
