"""Files of signing keys, in PEM, and the signer of `--sign`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from app.command.files.source import display_name
from app.errors import InputError, SetupError
from app.runs.exchange.envelope import sign_bundle

_MOST_BYTES = 4096


class BundleSigner:
    """Signs bundles with the private key in a file, which is read at once. Raises InputError."""

    def __init__(self, file: str) -> None:
        self._key = _read_private(file)

    def sign(self, bundle: dict[str, Any]) -> dict[str, Any]:
        """The envelope of a bundle."""
        return sign_bundle(bundle, self._key)


def signer_of(file: str | None) -> BundleSigner | None:
    """The signer for `--sign FILE`. Raises InputError, SetupError."""
    return None if file is None else BundleSigner(file)


def write_private(file: str, pem: bytes) -> None:
    """Write a private key into a new file that only its owner reads. Raises InputError."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(
            f"{display_name(file)} can't be written: {error.strerror}. Name a new file.",
            code="unwritable_file",
            field="--signing",
        ) from error
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(pem)


def _read(file: str, *, field: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(
            f"{display_name(file)} can't be read: {error.strerror}.", code="unreadable_file", field=field
        ) from error


def _read_private(file: str) -> bytes:
    """The 32 bytes of the private key in a PEM file. Raises InputError."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise SetupError("Signing needs cryptography: pip install 'samehere[node]'.") from error
    try:
        key = load_pem_private_key(_read(file, field="--sign"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _bad_key(file, "--sign") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _bad_key(file, "--sign")
    return key.private_bytes_raw()


def read_public(file: str) -> bytes:
    """The 32 bytes of the public key in a PEM file. Raises InputError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read(file, field="--public"))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _bad_key(file, "--public") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _bad_key(file, "--public")
    return key.public_bytes_raw()


def _bad_key(file: str, field: str) -> InputError:
    half = "private" if field == "--sign" else "public"
    return InputError(
        f"{display_name(file)} holds no {half} Ed25519 key in PEM without a password.",
        code="bad_key",
        field=field,
    )
