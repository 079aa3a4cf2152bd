"""The URL of the broker, in the forms of Celery and of redis-py. They spell a Unix socket differently.

Accepted forms of a socket: `unix:///path?db=2`, `redis+socket:///path?virtual_host=2` and `redis+unix:///path`.
A URL with a host (`redis://`, `rediss://`) is the same for both clients.
"""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

_SOCKET_SCHEMES = frozenset({"unix", "redis+socket", "redis+unix"})
# Celery's name and redis-py's name of the number of the database.
_DATABASE_NAMES = frozenset({"virtual_host", "db"})


def redis_url(url: str) -> str:
    """The URL for redis-py: `unix:///path?db=2` for a socket."""
    parts = urlsplit(url)
    return _socket_url(parts, scheme="unix", database="db") if parts.scheme in _SOCKET_SCHEMES else url


def celery_url(url: str) -> str:
    """The URL for Celery: `redis+socket:///path?virtual_host=2` for a socket."""
    parts = urlsplit(url)
    if parts.scheme not in _SOCKET_SCHEMES:
        return url
    return _socket_url(parts, scheme="redis+socket", database="virtual_host")


def user_of(url: str) -> str:
    """The broker's user that a URL names; empty if it names none."""
    return unquote(urlsplit(url).username or "")


def _socket_url(parts: SplitResult, *, scheme: str, database: str) -> str:
    query = [
        # Celery writes a database as a path: `virtual_host=/2`.
        (database, value.lstrip("/")) if name in _DATABASE_NAMES else (name, value)
        for name, value in parse_qsl(parts.query)
    ]
    return f"{scheme}://{parts.netloc}{parts.path}{'?' + urlencode(query) if query else ''}"
