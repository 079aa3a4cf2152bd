"""The secret with which the submitter of a report may withdraw it."""

from __future__ import annotations

import hashlib
import secrets

SECRET_BYTES = 32


def new_secret() -> str:
    """A random secret for the submitter of a report. Only its digest is stored."""
    return secrets.token_urlsafe(SECRET_BYTES)


def secret_digest(secret: str) -> str:
    """SHA-256 of a secret, as hex."""
    # A secret of 256 random bits needs no slow hash and no salt.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
