"""The secret with which the submitter of a report may withdraw it."""

from __future__ import annotations

import hashlib
import secrets

from app.storage.models import ReportRow

SECRET_BYTES = 32


def give_secret(report: ReportRow, secret: str | None = None) -> str:
    """Give a report the secret of its submitter; a random one by default. Only its digest is stored."""
    secret = secret or secrets.token_urlsafe(SECRET_BYTES)
    report.withdraw_digest = secret_digest(secret)
    return secret


def secret_digest(secret: str) -> str:
    """SHA-256 of a secret, as hex."""
    # A secret of 256 random bits needs no slow hash and no salt.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
