"""Keys and signatures of webhooks, as the specification Standard Webhooks 1.0.0 has them."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook

Scheme = Literal["hmac", "ed25519"]
SECRET_PREFIX = "whsec_"  # noqa: S105  # the form of a secret, and none
PRIVATE_PREFIX = "whsk_"
PUBLIC_PREFIX = "whpk_"
# A stored key that is encrypted, with its scheme and its public half before it (`app.runs.webhooks.sealing`).
SEALED = "sealed:"
SECRET_BYTES = 32


def new_key(scheme: Scheme) -> str:
    """A new key: `whsec_…` for HMAC-SHA256, `whsk_…` for Ed25519."""
    if scheme == "hmac":
        return SECRET_PREFIX + _encode(secrets.token_bytes(SECRET_BYTES))
    key = Ed25519PrivateKey.generate()
    return PRIVATE_PREFIX + _encode(key.private_bytes_raw() + key.public_key().public_bytes_raw())


def scheme_of(key: str) -> Scheme:
    """The scheme of a key, by its prefix, also of a sealed one."""
    if key.startswith(SEALED):
        return "ed25519" if key.split(":")[1] == "ed25519" else "hmac"
    return "ed25519" if key.startswith(PRIVATE_PREFIX) else "hmac"


def public_key(key: str) -> str | None:
    """`whpk_…` with which a receiver verifies. None for HMAC, which has one secret for both sides."""
    if scheme_of(key) == "hmac":
        return None
    if key.startswith(SEALED):
        return key.split(":")[2]
    return PUBLIC_PREFIX + _encode(_private(key).public_key().public_bytes_raw())


def signatures(keys: Sequence[str], *, event_id: str, moment: datetime, body: str) -> str:
    """The header `webhook-signature`: one signature for each key. `moment` is in UTC, of this try."""
    return " ".join(_sign(key, event_id=event_id, moment=moment, body=body) for key in keys)


def _sign(key: str, *, event_id: str, moment: datetime, body: str) -> str:
    if scheme_of(key) == "hmac":
        return Webhook(key).sign(event_id, moment, body)
    content = f"{event_id}.{int(moment.timestamp())}.{body}"
    return f"v1a,{_encode(_private(key).sign(content.encode()))}"


def _private(key: str) -> Ed25519PrivateKey:
    # The seed, then the public key.
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.removeprefix(PRIVATE_PREFIX))[:32])


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
