"""Keys of webhooks at rest: encrypted with a key of the operator, if there is one.

A stored key keeps its scheme and its public half readable: `sealed:SCHEME:PUBLIC:TOKEN`, with a token of
Fernet. The first line of the file encrypts and all lines decrypt, so a new first line begins a rotation.
"""

from __future__ import annotations

from typing import NoReturn

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from sqlalchemy.orm import Session, sessionmaker

from app.errors import SetupError
from app.runs.webhooks.signature import SEALED, public_key, scheme_of
from app.settings import ServiceSettings
from app.storage.queries.doors import webhooks as queries

_MOST_BYTES = 4096
_HOW = "python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"


def check_key_file(settings: ServiceSettings) -> None:
    """Raise SetupError if the file of the setting can't be used."""
    _fernets(settings)


def seal(key: str, settings: ServiceSettings) -> str:
    """A key as it is stored. Raises SetupError."""
    fernets = _fernets(settings)
    if not fernets or key.startswith(SEALED):
        return key
    token = fernets[0].encrypt(key.encode()).decode()
    return f"{SEALED}{scheme_of(key)}:{public_key(key) or ''}:{token}"


def unseal(stored: str, settings: ServiceSettings) -> str:
    """The key with which to sign. Raises SetupError if it can't be decrypted."""
    if not stored.startswith(SEALED):
        return stored
    fernets = _fernets(settings)
    try:
        return MultiFernet(fernets).decrypt(_token(stored)).decode() if fernets else _refuse()
    except InvalidToken:
        return _refuse()


def sealed_anew(stored: str, settings: ServiceSettings) -> str:
    """A stored key, encrypted with the first key of the file. Raises SetupError."""
    fernets = _fernets(settings)
    if not fernets:
        return stored
    if stored.startswith(SEALED):
        try:
            fernets[0].decrypt(_token(stored))
        except InvalidToken:
            pass
        else:
            return stored
    return seal(unseal(stored, settings), settings)


def seal_all(factory: sessionmaker[Session], settings: ServiceSettings) -> int:
    """Encrypt the keys of all webhooks with the first key of the file. Returns how many changed.

    Raises SetupError.
    """
    count = 0
    with factory.begin() as session:
        for row in queries.all_webhooks(session):
            before = (row.key, row.earlier_key)
            row.key = sealed_anew(row.key, settings)
            if row.earlier_key is not None:
                row.earlier_key = sealed_anew(row.earlier_key, settings)
            count += before != (row.key, row.earlier_key)
    return count


def _token(stored: str) -> bytes:
    return stored.rpartition(":")[2].encode()


def _refuse() -> NoReturn:
    raise SetupError(
        "The key of a webhook can't be decrypted: SAMEHERE_WEBHOOK_KEY_FILE lacks the key that encrypted it.",
        code="webhook_key",
    )


def _fernets(settings: ServiceSettings) -> list[Fernet]:
    """The keys of the file. Raises SetupError, which never shows them."""
    path = settings.webhook_key_file
    if path is None:
        return []
    try:
        with path.open("rb") as file:
            lines = file.read(_MOST_BYTES).split()
        fernets = [Fernet(line) for line in lines]
    except OSError as error:
        raise _file_error(f"the file can't be read: {error.strerror}") from None
    except ValueError:
        raise _file_error(f"a line is no key; make one by {_HOW}") from None
    if not fernets:
        raise _file_error(f"the file is empty; make a key by {_HOW}")
    return fernets


def _file_error(message: str) -> SetupError:
    return SetupError(f"SAMEHERE_WEBHOOK_KEY_FILE: {message}.", code="bad_setting")
