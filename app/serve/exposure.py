"""Who can reach what: the web only this machine, until a token exists; the embedded servers never a script."""

from __future__ import annotations

import ipaddress

from app.errors import SetupError, UnavailableError
from app.settings import ServiceSettings
from worker.contract import Level


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address of that name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(settings: ServiceSettings, database_url: str) -> None:
    """Raise SetupError if other machines could reach the web and no token exists, UnavailableError if nobody can tell."""
    from sqlalchemy.exc import OperationalError

    from app.runs.maintenance.tokens import any_tokens
    from app.storage.session import make_engine, session_factory

    if is_loopback(settings.host):
        return
    engine = make_engine(settings.model_copy(update={"database_url": database_url}))
    try:
        with session_factory(engine, None).begin() as session:
            found = any_tokens(session)
    except OperationalError as error:
        raise UnavailableError(f"can't reach the database: {error.orig}") from error
    finally:
        engine.dispose()
    if not found:
        raise SetupError(
            f"{settings.host} is reachable from other machines, and no token exists: create one first "
            "(samehere token create --scope submit), or stay on 127.0.0.1"
        )


def require_isolation(settings: ServiceSettings) -> None:
    """Raise SetupError if strangers' code could run beside the embedded servers without namespaces that hide them."""
    embedded = settings.database_url is None or settings.broker_url is None
    if embedded and not settings.required_level.satisfies(Level.NAMESPACES):
        raise SetupError(
            f"SAMEHERE_REQUIRED_LEVEL={settings.required_level} lets strangers' code run without namespaces, and the embedded servers lie "
            "beside it: give SAMEHERE_DATABASE_URL and SAMEHERE_BROKER_URL of servers on another machine, or ask for ns+seccomp"
        )
