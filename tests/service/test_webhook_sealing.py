"""The keys of webhooks, encrypted in the database: sealed, used, rotated, and lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import select, update
from stage import Stage
from webhook_receiver import Receiver, receiving

from app.errors import SetupError
from app.runs.webhooks.deliver import deliver_due
from app.runs.webhooks.sealing import check_key_file, seal, seal_all, sealed_anew, unseal
from app.runs.webhooks.signature import Scheme, new_key, public_key, scheme_of
from app.runs.webhooks.subscriptions import NewWebhook, add_webhook, get_webhook, ping, rotate_key
from app.settings import ServiceSettings
from app.storage.models import WebhookRow


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "webhook.key"
    path.write_bytes(Fernet.generate_key() + b"\n")
    return path


@pytest.mark.parametrize("scheme", ["hmac", "ed25519"])
def test_a_sealed_key_shows_its_scheme_and_its_public_half_only(key_file: Path, scheme: Scheme) -> None:
    settings = ServiceSettings(webhook_key_file=key_file)
    key = new_key(scheme)
    stored = seal(key, settings)
    assert unseal(stored, settings) == key
    assert (scheme_of(stored), public_key(stored)) == (scheme, public_key(key))
    assert key.partition("_")[2][:20] not in stored
    assert seal(stored, settings) == stored


def test_without_a_file_keys_stay_as_they_are() -> None:
    key = new_key("hmac")
    assert seal(key, ServiceSettings()) == unseal(key, ServiceSettings()) == key


def test_a_new_first_line_begins_a_rotation(key_file: Path) -> None:
    settings = ServiceSettings(webhook_key_file=key_file)
    key = new_key("hmac")
    stored = seal(key, settings)
    assert sealed_anew(stored, settings) == stored
    first = Fernet.generate_key() + b"\n"
    key_file.write_bytes(first + key_file.read_bytes())
    anew = sealed_anew(stored, settings)
    assert anew != stored
    key_file.write_bytes(first)
    assert unseal(anew, settings) == key
    with pytest.raises(SetupError, match="lacks the key"):
        unseal(stored, settings)
    with pytest.raises(SetupError, match="lacks the key"):
        unseal(stored, ServiceSettings())


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 44])
def test_a_file_that_holds_no_key_is_refused_and_not_shown(key_file: Path, content: bytes) -> None:
    key_file.write_bytes(content)
    with pytest.raises(SetupError, match="SAMEHERE_WEBHOOK_KEY_FILE") as caught:
        check_key_file(ServiceSettings(webhook_key_file=key_file))
    assert content == b"" or content.decode() not in caught.value.message


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def settings_of(stage: Stage, key_file: Path | None) -> ServiceSettings:
    return stage.settings.model_copy(update={"webhook_private": True, "webhook_key_file": key_file})


def add(stage: Stage, receiver: Receiver, settings: ServiceSettings, **more: Any) -> NewWebhook:
    with stage.session() as session:
        return add_webhook(
            session, receiver.url, owner=None, events=[], settings=settings, **{"scheme": "hmac"} | more
        )


def ping_and_deliver(stage: Stage, webhook: NewWebhook, settings: ServiceSettings) -> None:
    with stage.session() as session:
        ping(session, webhook.id, owner=None)
    while deliver_due(stage.factory, settings=settings):
        pass


def stored_keys(stage: Stage) -> list[str]:
    with stage.session() as session:
        rows = session.execute(select(WebhookRow.key, WebhookRow.earlier_key).order_by(WebhookRow.id)).all()
    return [key for row in rows for key in row if key is not None]


def test_events_are_signed_by_sealed_keys_also_in_a_rotation(
    stage: Stage, receiver: Receiver, key_file: Path
) -> None:
    settings = settings_of(stage, key_file)
    webhook = add(stage, receiver, settings)
    with stage.session() as session:
        later = rotate_key(session, webhook.id, owner=None, scheme=None, settings=settings)
        assert get_webhook(session, webhook.id, owner=None).signature == "hmac"
    assert all(key.startswith("sealed:hmac::") for key in stored_keys(stage))
    ping_and_deliver(stage, webhook, settings)
    (arrival,) = receiver.arrivals
    for secret in (webhook.secret, later.secret):
        assert arrival.verify(secret or "")["type"] == "webhook.ping"


def test_keys_from_before_are_sealed_by_a_command_that_may_be_repeated(
    stage: Stage, receiver: Receiver, key_file: Path
) -> None:
    webhook = add(stage, receiver, settings_of(stage, None))
    assert stored_keys(stage) == [webhook.secret]
    settings = settings_of(stage, key_file)
    assert seal_all(stage.factory, settings) == 1
    assert seal_all(stage.factory, settings) == 0
    assert webhook.secret not in stored_keys(stage)
    ping_and_deliver(stage, webhook, settings)
    assert receiver.arrivals[0].verify(webhook.secret or "")


def test_a_key_that_is_lost_holds_up_no_other_webhook(
    stage: Stage, receiver: Receiver, key_file: Path
) -> None:
    settings = settings_of(stage, key_file)
    sealed, plain = add(stage, receiver, settings), add(stage, receiver, settings_of(stage, None))
    key_file.write_bytes(Fernet.generate_key())
    with stage.session() as session:
        ping(session, sealed.id, owner=None)
    assert deliver_due(stage.factory, settings=settings) == 0
    ping_and_deliver(stage, plain, settings)
    (arrival,) = receiver.arrivals
    assert arrival.verify(plain.secret or "")
    # With a new key it goes on, and what waited is sent.
    with stage.session() as session:
        anew = rotate_key(session, sealed.id, owner=None, scheme=None, settings=settings)
        session.execute(update(WebhookRow).values(busy_until=None, earlier_until=None))
    while deliver_due(stage.factory, settings=settings):
        pass
    assert receiver.arrivals[-1].verify(anew.secret or "")
