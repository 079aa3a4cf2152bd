"""`samehere webhook`: the webhooks of a token, on a service."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.command.service.client import Client
from app.command.service.configuration import load_settings, own_address
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import InputError
from app.ids import is_id


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """The service that the options name; without one, that of this machine."""

    server: str | None
    token: str | None

    def client(self) -> Client:
        """Its client. Raises SamehereError."""
        return Client(self.server or own_address(load_settings()), token=self.token)


def add(url: str, *, events: Sequence[str], signature: str, service: ServiceChoice, as_json: bool) -> None:
    """Add a webhook, and print what its receiver needs to verify. Raises SamehereError."""
    body: dict[str, Any] = {"url": url, "signature": signature}
    if events:
        body["events"] = list(events)
    _print_key(service.client().change("POST", "/webhooks", body), as_json=as_json)


def show_all(*, service: ServiceChoice, as_json: bool) -> None:
    """Print the webhooks of the token. Raises SamehereError."""
    webhooks = _items(service.client().get("/webhooks"))
    if as_json:
        print_json(webhooks)
        return
    for webhook in webhooks:
        state = f"stopped: {webhook.get('stop_reason')}" if webhook.get("stopped_at") else "on"
        events = ",".join(map(str, webhook.get("events", [])))
        print_line(visible(f"{webhook.get('id')}  {state:15}  {webhook.get('url')}  {events}"))


def ping(webhook: str, *, service: ServiceChoice, as_json: bool) -> None:
    """Send a ping, and print its delivery. Raises SamehereError."""
    delivery = service.client().change("POST", f"/webhooks/{_checked_id(webhook)}/ping", {})
    _print_delivery(delivery, as_json=as_json)


def resend(webhook: str, delivery: str, *, service: ServiceChoice, as_json: bool) -> None:
    """Send an event once more. Raises SamehereError."""
    path = f"/webhooks/{_checked_id(webhook)}/deliveries/{_checked_id(delivery)}/resend"
    _print_delivery(service.client().change("POST", path, {}), as_json=as_json)


def show_log(webhook: str, *, service: ServiceChoice, as_json: bool) -> None:
    """Print the last deliveries of a webhook. Raises SamehereError."""
    deliveries = _items(service.client().get(f"/webhooks/{_checked_id(webhook)}/deliveries?limit=200"))
    if as_json:
        print_json(deliveries)
        return
    for delivery in deliveries:
        _print_delivery(delivery, as_json=False)


def rotate(webhook: str, *, signature: str | None, service: ServiceChoice, as_json: bool) -> None:
    """Give a webhook a new key, and print it. Raises SamehereError."""
    body = {} if signature is None else {"signature": signature}
    answer = service.client().change("POST", f"/webhooks/{_checked_id(webhook)}/rotate", body)
    _print_key(answer, as_json=as_json)


def remove(webhook: str, *, service: ServiceChoice) -> None:
    """Remove a webhook. Raises SamehereError."""
    service.client().change("DELETE", f"/webhooks/{_checked_id(webhook)}", {})
    print_line(f"{webhook} is removed")


def _checked_id(identifier: str) -> str:
    if not is_id(identifier):
        raise InputError(
            "An id has 26 characters; `samehere webhook list` and `webhook log` show it.", code="bad_id"
        )
    return identifier


def _items(answer: dict[str, Any]) -> list[dict[str, Any]]:
    items = answer.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _print_key(webhook: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(webhook)
        return
    sys.stderr.write(visible(f"Webhook {webhook.get('id')} for {webhook.get('url')}.") + "\n")
    if webhook.get("secret"):
        sys.stderr.write("Its secret is shown only now; the receiver verifies with it:\n")
    else:
        sys.stderr.write("The receiver verifies with this public key:\n")
    print_line(visible(str(webhook.get("secret") or webhook.get("public_key"))))


def _print_delivery(delivery: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(delivery)
        return
    tries = [each for each in delivery.get("tries", []) if isinstance(each, dict)]
    last = tries[-1] if tries else {}
    end = f", the last: {last.get('problem') or 'taken'}, status {last.get('status')}" if tries else ""
    line = f"{delivery.get('id')}  {delivery.get('type')}  {delivery.get('state')}  tries: {len(tries)}{end}"
    print_line(visible(line))
