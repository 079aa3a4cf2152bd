"""Checks before the start: no public web without a token, and no script that can reach the servers."""

from __future__ import annotations

import ipaddress

from app.errors import SetupError, UnavailableError
from app.settings import ServiceSettings
from worker.contract import Level
from worker.contract.broker.url import explain_refusal


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(settings: ServiceSettings, database_url: str) -> None:
    """Raise SetupError if other machines can reach the web and no token exists.

    Raises UnavailableError if the database does not answer.
    """
    from sqlalchemy.exc import OperationalError

    from app.runs.maintenance.tokens import any_tokens
    from app.storage.session import make_engine, session_factory

    if is_loopback(settings.host):
        return
    engine = make_engine(settings.with_database(database_url))
    try:
        with session_factory(engine, None).begin() as session:
            has_tokens = any_tokens(session)
    except OperationalError as error:
        raise UnavailableError(f"can't reach the database: {error.orig}") from error
    finally:
        engine.dispose()
    if not has_tokens:
        raise SetupError(
            f"other machines can reach {settings.host}, and no token exists: create one first "
            "(samehere token create --scope submit), or use 127.0.0.1"
        )


def require_broker(url: str) -> None:
    """Raise SetupError if the broker refuses the user or the password, UnavailableError if it is away."""
    from redis import RedisError

    try:
        refusal = explain_refusal(url)
    except RedisError as error:
        raise UnavailableError(f"can't reach the broker: {error}") from None
    if refusal:
        raise SetupError(refusal)


def require_isolation(settings: ServiceSettings) -> None:
    """Raise SetupError if scripts may run without namespaces, because these hide the embedded servers."""
    embedded = settings.database_url is None or settings.broker_url is None
    if embedded and not settings.required_level.satisfies(Level.NAMESPACES):
        raise SetupError(
            f"SAMEHERE_REQUIRED_LEVEL={settings.required_level} lets scripts run without namespaces, "
            "so they could reach the embedded servers: set SAMEHERE_DATABASE_URL and SAMEHERE_BROKER_URL "
            "to servers on another machine, or require ns+seccomp"
        )
