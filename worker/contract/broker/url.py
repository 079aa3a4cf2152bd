"""The URL of the broker, in the forms of Celery and of redis-py. They spell a Unix socket differently.

Accepted forms of a socket: `unix:///path?db=2`, `redis+socket:///path?virtual_host=2` and `redis+unix:///path`.
A URL with a host (`redis://`, `rediss://`) is the same for both clients.
"""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

PING_SECONDS = 5.0
_HOST_SCHEMES = frozenset({"redis", "rediss"})
_SOCKET_SCHEMES = frozenset({"unix", "redis+socket", "redis+unix"})
# Celery's name and redis-py's name of the number of the database.
_DATABASE_NAMES = frozenset({"virtual_host", "db"})


def check_broker_url(url: str) -> None:
    """Raise ValueError, which does not show the URL, if it is neither empty nor the URL of a Redis."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in _SOCKET_SCHEMES | _HOST_SCHEMES and (parts.port is None or parts.port > 0)
    except ValueError:
        is_usable = False
    if url and not is_usable:
        raise ValueError(
            "only Redis or Valkey is possible: redis://:PASSWORD@HOST:6379/0, with % escapes in the password"
        )


def explain_refusal(url: str) -> str:
    """Why the broker refuses the user or the password of the URL; empty if it accepts them.

    Raises redis.RedisError if it does not answer.
    """
    import redis

    timeouts = {"socket_timeout": PING_SECONDS}
    if not redis_url(url).startswith("unix://"):
        timeouts["socket_connect_timeout"] = PING_SECONDS
    with redis.Redis.from_url(redis_url(url), **timeouts) as connection:
        try:
            connection.ping()
        except (
            redis.AuthenticationError,
            redis.exceptions.AuthenticationWrongNumberOfArgsError,
            redis.exceptions.NoPermissionError,
        ):
            # Another answer, such as that of a full disk, is no word on the password.
            return (
                "the broker refuses the user or the password: correct SAMEHERE_BROKER_URL or "
                "SAMEHERE_BROKER_PASSWORD_FILE (a node's key is made by `samehere node-key create`)"
            )
    return ""


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
