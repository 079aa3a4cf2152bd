"""The two secrets of the App, each in a file of its own. They are read when they are used, never shown."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from app.errors import SetupError
from app.settings import ServiceSettings
from worker.contract.secret_file import read_secret

_KEY_BYTES = 16 * 1024


def webhook_secret(settings: ServiceSettings) -> SecretStr:
    """The secret with which GitHub signs events. Raises SetupError."""
    try:
        return SecretStr(read_secret(settings.github_secret_file or Path()))
    except ValueError as error:
        raise SetupError(f"SAMEHERE_GITHUB_SECRET_FILE: {error}.", code="bad_setting") from None


def private_key(settings: ServiceSettings) -> SecretStr:
    """The private key of the App as PEM. Raises SetupError."""
    try:
        with (settings.github_key_file or Path()).open("rb") as file:
            raw = file.read(_KEY_BYTES + 1)
        text = raw.decode("ascii")
    except OSError as error:
        raise _key_error(f"the file can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _key_error("the file is no PEM") from None
    if len(raw) > _KEY_BYTES or "PRIVATE KEY-----" not in text:
        raise _key_error("the file is no private key in PEM, as GitHub made it")
    return SecretStr(text)


def _key_error(message: str) -> SetupError:
    return SetupError(f"SAMEHERE_GITHUB_KEY_FILE: {message}.", code="bad_setting")
