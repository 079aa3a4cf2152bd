"""Passwords in files of their own: a URL without a password and the file's password make the whole URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

_MOST_BYTES = 4096


def read_secret(path: Path) -> str:
    """The only line of a file, without its end.

    Raises ValueError, which names the file and never shows what is in it.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"can't read the secret in {path}: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise ValueError(f"the secret in {path} is longer than {_MOST_BYTES} bytes")
    try:
        secret = raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"the secret in {path} is not UTF-8") from None
    if not secret:
        raise ValueError(f"the secret in {path} is empty: write it there, on one line")
    if set(secret) & set("\0\r\n"):
        raise ValueError(f"the secret in {path} is more than one line")
    return secret


def add_password(url: str, password: str) -> str:
    """The URL with a password, which may contain any character. Raises ValueError if the URL has one."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if at and ":" in user:
        raise ValueError("the URL has a password already: remove it there, or name no file")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}").geturl()


def complete_urls(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Settings whose `NAME_url` has the password in the file `NAME_password_file`, where that is set.

    Raises ValueError, which names the variable.
    """
    completed = dict(settings)
    for name in names:
        file, url = completed.get(f"{name}_password_file"), completed.get(f"{name}_url")
        if not file:
            continue
        variable = f"SAMEHERE_{name.upper()}_PASSWORD_FILE"
        text = url.get_secret_value() if isinstance(url, SecretStr) else url
        if not text:
            raise ValueError(f"{variable} needs SAMEHERE_{name.upper()}_URL, without a password")
        try:
            completed[f"{name}_url"] = add_password(text, read_secret(Path(file)))
        except ValueError as error:
            raise ValueError(f"{variable}: {error}") from None
    return completed
