"""The envelope around a signed statement: DSSE 1.0.0, signed with Ed25519.

The bytes of the payload are what is signed and what is read, so nothing depends on the form of its JSON.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from app.errors import InputError
from app.runs.exchange.statement import statement_of

PAYLOAD_TYPE = "application/vnd.in-toto+json"
# More signatures are not tried.
MOST_SIGNATURES = 10
_HINT = b'"payloadType"'


class RegisteredKey(Protocol):
    """A public key that the service knows."""

    name: str
    key_id: str
    public_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The holder of the key that signed an envelope."""

    name: str
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """An envelope that was decoded, and not yet verified. `signatures` are pairs of key id and signature."""

    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: the pre-authentication encoding of type and payload."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id_of(public_key: bytes) -> str:
    """The name of a key: the SHA-256 of its 32 bytes, in hexadecimal."""
    return hashlib.sha256(public_key).hexdigest()


def sign_bundle(bundle: dict[str, Any], private_key: bytes) -> dict[str, Any]:
    """The envelope of a bundle, signed with the 32 bytes of a private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(private_key)
    payload = json.dumps(
        statement_of(bundle), ensure_ascii=True, allow_nan=False, separators=(",", ":")
    ).encode()
    return {
        "payload": _encode(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {
                "keyid": key_id_of(key.public_key().public_bytes_raw()),
                "sig": _encode(key.sign(pae(PAYLOAD_TYPE, payload))),
            }
        ],
    }


def envelope_in(data: bytes) -> Envelope | None:
    """The envelope in a file. None if the file is something else. Raises InputError for a bad one."""
    if _HINT not in data:
        return None
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        # Whoever reads it as a bundle says what is wrong.
        return None
    if not isinstance(raw, dict) or "payloadType" not in raw:
        return None
    if raw["payloadType"] != PAYLOAD_TYPE:
        raise _error(f"This envelope is not of the type {PAYLOAD_TYPE}.", "other_envelope")
    signatures = raw.get("signatures")
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= MOST_SIGNATURES:
        raise _error(f"An envelope has 1 to {MOST_SIGNATURES} signatures.", "bad_envelope")
    return Envelope(payload=_decode(raw.get("payload")), signatures=tuple(map(_signature, signatures)))


def _signature(raw: Any) -> tuple[str, bytes]:
    if not isinstance(raw, dict):
        raise _error("A signature of this envelope has the wrong form.", "bad_envelope")
    key_id = raw.get("keyid")
    return key_id if isinstance(key_id, str) else "", _decode(raw.get("sig"))


def find_signer(envelope: Envelope, keys: Iterable[RegisteredKey]) -> Signer:
    """The holder of a registered key that signed the envelope. Raises InputError if there is none.

    The key id in an envelope is a hint: it chooses the keys to try, and decides nothing.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    content = pae(PAYLOAD_TYPE, envelope.payload)
    known = list(keys)
    hints = {key_id for key_id, _ in envelope.signatures}
    candidates = [key for key in known if key.key_id in hints]
    for key in candidates if "" not in hints else known:
        public_key = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key))
        for _, signature in envelope.signatures:
            try:
                public_key.verify(signature, content)
            except InvalidSignature:
                continue
            return Signer(name=key.name, key_id=key.key_id)
    if candidates:
        raise _error(
            "The signature of this bundle is wrong: it was altered after it was signed, or it was signed by"
            " somebody else. Send the file as it was made.",
            "wrong_signature",
        )
    raise _error(
        "No registered key signed this bundle. Ask the operator to register the key"
        " (`samehere node-key create NAME --public FILE`), or make the bundle without --sign.",
        "unknown_signer",
    )


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: Any) -> bytes:
    """Bytes of base64, in the standard or the URL-safe alphabet, as verifiers must accept both."""
    try:
        plain = text.replace("-", "+").replace("_", "/").encode("ascii")
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (AttributeError, UnicodeEncodeError, binascii.Error) as error:
        raise _error("A part of this envelope is no base64.", "bad_envelope") from error


def _error(message: str, code: str) -> InputError:
    return InputError(message, code=code, field="bundle")
