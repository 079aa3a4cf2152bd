"""Signatures against the specification's own vectors, and keys in its form."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook, WebhookVerificationError

from app.clock import now
from app.runs.webhooks.signature import new_key, public_key, scheme_of, signatures

# The specification shows the Ed25519 signature; its key is in the tests of the reference sender (Svix).
EVENT = {
    "event_id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "moment": datetime.fromtimestamp(1614265330, UTC),
    "body": '{"test": 2432232314}',
}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
HMAC = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
ED25519 = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="


@pytest.mark.parametrize(
    ("keys", "expected"),
    [([SECRET], HMAC), ([KEY], ED25519), ([KEY, SECRET], f"{ED25519} {HMAC}")],
)
def test_the_vectors_of_the_specification(keys: list[str], expected: str) -> None:
    assert signatures(keys, **EVENT) == expected  # type: ignore[arg-type]


def test_keys_have_the_form_of_the_specification() -> None:
    secret, pair = new_key("hmac"), new_key("ed25519")
    assert (scheme_of(secret), scheme_of(pair)) == ("hmac", "ed25519")
    assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"))) <= 64
    assert len(base64.b64decode(pair.removeprefix("whsk_"))) == 64
    assert public_key(secret) is None
    assert public_key(KEY) == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    assert new_key("hmac") != secret


def test_a_public_key_verifies_and_another_body_does_not() -> None:
    pair = new_key("ed25519")
    shown = public_key(pair)
    assert shown is not None
    verifier = Ed25519PublicKey.from_public_bytes(base64.b64decode(shown.removeprefix("whpk_")))
    moment = now()
    header = signatures([pair], event_id="a", moment=moment, body="{}")
    content = f"a.{int(moment.timestamp())}."
    verifier.verify(base64.b64decode(header.removeprefix("v1a,")), f"{content}{{}}".encode())
    with pytest.raises(InvalidSignature):
        verifier.verify(base64.b64decode(header.removeprefix("v1a,")), f"{content}[]".encode())


def test_during_a_rotation_both_receivers_accept() -> None:
    old, new = new_key("hmac"), new_key("hmac")
    moment = now()
    headers = {
        "webhook-id": "a",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": signatures([new, old], event_id="a", moment=moment, body="{}"),
    }
    assert Webhook(old).verify("{}", headers) == Webhook(new).verify("{}", headers) == {}
    with pytest.raises(WebhookVerificationError):
        Webhook(new_key("hmac")).verify("{}", headers)
