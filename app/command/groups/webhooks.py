"""Commands about webhooks: `webhook add`, `list`, `ping`, `log`, `resend`, `rotate` and `remove`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from app.command.groups.options import GROUP_SETTINGS, Json, OtherServer, ServiceToken

webhook_commands = typer.Typer(**GROUP_SETTINGS)
webhooks = typer.Typer(help="News of what you submitted, sent to an address of yours.", **GROUP_SETTINGS)
webhook_commands.add_typer(webhooks, name="webhook")

WebhookId = Annotated[
    str, typer.Argument(metavar="WEBHOOK", help="As `webhook list` shows it.", show_default=False)
]
DeliveryId = Annotated[
    str, typer.Argument(metavar="DELIVERY", help="As `webhook log` shows it.", show_default=False)
]


class EventName(StrEnum):
    """The events that a webhook can get."""

    RUN_FINISHED = "run.finished"
    REPORT_CHANGED = "report.changed"
    REPORT_FIXED = "report.fixed"
    REPORT_REGRESSED = "report.regressed"


class SignatureName(StrEnum):
    """The kinds of signatures."""

    HMAC = "hmac"
    ED25519 = "ed25519"


@webhooks.command("add", epilog="Example: samehere webhook add https://bot.example/news --event run.finished")
def add_webhook(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The https address of your receiver.", show_default=False)
    ],
    *,
    event: Annotated[
        list[EventName] | None, typer.Option(help="An event to send; repeat it; default: all.")
    ] = None,
    signature: Annotated[
        SignatureName, typer.Option(help="hmac: one secret; ed25519: a public key.")
    ] = SignatureName.HMAC,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Get news of what this token submits. The secret is printed once."""
    from app.command.doors import webhooks as command

    command.add(
        url,
        events=[each.value for each in event or ()],
        signature=signature.value,
        service=command.ServiceChoice(server, token),
        as_json=json,
    )


@webhooks.command("list", epilog="Example: samehere webhook list --json")
def list_webhooks(*, server: OtherServer = None, token: ServiceToken = None, json: Json = False) -> None:
    """Show the webhooks of this token, without their secrets."""
    from app.command.doors import webhooks as command

    command.show_all(service=command.ServiceChoice(server, token), as_json=json)


@webhooks.command("ping", epilog="Example: samehere webhook ping 01k1v3q4x5y6z7a8b9c0d1e2f3")
def ping_webhook(
    webhook: WebhookId, *, server: OtherServer = None, token: ServiceToken = None, json: Json = False
) -> None:
    """Send an event `webhook.ping`, to try the receiver. A stopped webhook is sent to again."""
    from app.command.doors import webhooks as command

    command.ping(webhook, service=command.ServiceChoice(server, token), as_json=json)


@webhooks.command("log", epilog="Example: samehere webhook log 01k1v3q4x5y6z7a8b9c0d1e2f3")
def show_log(
    webhook: WebhookId, *, server: OtherServer = None, token: ServiceToken = None, json: Json = False
) -> None:
    """Show the last events of a webhook, with every try to deliver them."""
    from app.command.doors import webhooks as command

    command.show_log(webhook, service=command.ServiceChoice(server, token), as_json=json)


@webhooks.command(
    "resend",
    epilog="Example: samehere webhook resend 01k1v3q4x5y6z7a8b9c0d1e2f3 01k1v3q4x5y6z7a8b9c0d1e2f4",
)
def resend_delivery(
    webhook: WebhookId,
    delivery: DeliveryId,
    *,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Send an event once more, under the same id. A stopped webhook is sent to again."""
    from app.command.doors import webhooks as command

    command.resend(webhook, delivery, service=command.ServiceChoice(server, token), as_json=json)


@webhooks.command("rotate", epilog="Example: samehere webhook rotate 01k1v3q4x5y6z7a8b9c0d1e2f3")
def rotate_key(
    webhook: WebhookId,
    *,
    signature: Annotated[
        SignatureName | None, typer.Option(help="The kind of the new key; default: as before.")
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Give a webhook a new key, printed once. For a day, the old one signs as well."""
    from app.command.doors import webhooks as command

    command.rotate(
        webhook,
        signature=None if signature is None else signature.value,
        service=command.ServiceChoice(server, token),
        as_json=json,
    )


@webhooks.command("remove", epilog="Example: samehere webhook remove 01k1v3q4x5y6z7a8b9c0d1e2f3")
def remove_webhook(webhook: WebhookId, *, server: OtherServer = None, token: ServiceToken = None) -> None:
    """Remove a webhook with its log."""
    from app.command.doors import webhooks as command

    command.remove(webhook, service=command.ServiceChoice(server, token))
