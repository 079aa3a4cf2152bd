"""Signing keys: `samehere node-key create --signing`, `list --signing` and `revoke --signing`."""

from __future__ import annotations

import sys

from app.command.files.key_file import read_public, write_private
from app.command.files.source import display_name
from app.command.service.database import service_database
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import InputError


def create(name: str, *, private_file: str | None, public_file: str | None, as_json: bool) -> None:
    """Make a key pair, or take a public half made elsewhere, and register it. Raises SamehereError."""
    from app.runs.exchange.signing_keys import register

    if private_file is not None and public_file is not None:
        raise InputError("Give one of --signing and --public.", code="two_keys", field="--public")
    with service_database() as sessions, sessions.begin() as session:
        if public_file is not None:
            public_key = read_public(public_file)
            key = register(session, name, public_key)
        else:
            pem, public_key = _new_pair()
            key = register(session, name, public_key)
            # Before the commit: a key that could not be stored is not registered.
            write_private(private_file or "", pem)
    if as_json:
        print_json({"name": key.name, "key": key.key_id, "file": private_file})
        return
    if private_file is not None:
        sys.stderr.write(
            f"The private half is in {display_name(private_file)} and nowhere else. Sign with it: samehere"
            " reproduce FILE --bundle OUT --sign KEY\n"
        )
    print_line(key.key_id)


def show_all(*, as_json: bool) -> None:
    """Print the registered keys."""
    from app.runs.exchange.signing_keys import list_keys

    with service_database() as sessions, sessions.begin() as session:
        keys = list_keys(session)
    if as_json:
        print_json(
            [
                {
                    "name": key.name,
                    "key": key.key_id,
                    "created_at": key.created_at.isoformat(),
                    "revoked_at": None if key.revoked_at is None else key.revoked_at.isoformat(),
                }
                for key in keys
            ]
        )
        return
    for key in keys:
        state = "valid" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}"
        print_line(f"{key.key_id}  {state:18} {visible(key.name)}")


def revoke(name: str) -> None:
    """Revoke the signing keys of a name."""
    from app.runs.exchange.signing_keys import revoke_keys

    with service_database() as sessions, sessions.begin() as session:
        count = revoke_keys(session, name)
    print_line(f"{count} signing keys of {visible(name)} are revoked; what they signed before stays signed")


def _new_pair() -> tuple[bytes, bytes]:
    """A private key as PEM, and the bytes of its public half."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem, key.public_key().public_bytes_raw()
