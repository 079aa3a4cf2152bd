"""The database of the service, for commands that work on it directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.command.service.configuration import load_settings
from app.embedded.running_homes import running_homes
from app.errors import SetupError, UnavailableError
from worker.contract.log import log_to_stderr

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, sessionmaker


MOST_CHARACTERS = 500
# Homes that a warning names.
MOST_HOMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabasePlace:
    """The database that a command works on: the home or the server in words, and a warning about another one.

    `home` is None if the operator named a server. `warning` is empty unless a service of this machine uses
    another database, and none runs on this one.
    """

    home: str | None
    words: str
    warning: str = ""


def database_place() -> DatabasePlace:
    """The database of the settings. Ask before it is opened: a command may start its server."""
    settings = load_settings()
    url = settings.reveal_database_url()
    if url is not None:
        parts = urlsplit(url)
        return DatabasePlace(
            home=None, words=f"database {parts.path.lstrip('/') or '?'} on {parts.hostname or 'this machine'}"
        )
    home = settings.home.absolute()
    words = f"home {home}"
    running = running_homes()
    # The demo of this home is the likeliest one that is meant.
    others = sorted(
        (other for other in running if other.resolve() != home.resolve()),
        key=lambda other: not other.resolve().is_relative_to(home.resolve()),
    )
    if others and len(others) == len(running):
        commands = " or ".join(f"SAMEHERE_HOME={other}" for other in others[:MOST_HOMES])
        warning = (
            f"Attention: no service runs on the home {home}, but on this machine one runs on {others[0]}."
            f" This command does not reach that one. If you mean it, set {commands}."
        )
        return DatabasePlace(home=str(home), words=words, warning=warning)
    return DatabasePlace(home=str(home), words=words)


@contextmanager
def service_database() -> Iterator[sessionmaker[Session]]:
    """Transactions in the database of the running service, of the named server, or of this home.

    Raises SetupError if the service is not installed, UnavailableError if the database can't be reached.
    """
    try:
        from sqlalchemy.exc import OperationalError

        from app.serve.database import database
        from app.storage.session import make_engine, session_factory
    except ImportError as error:
        raise SetupError(
            f"The service is not installed here ({error.name}): pip install 'samehere[service,embedded]'."
        ) from error
    settings = load_settings()
    log_to_stderr("samehere", settings)
    with database(settings) as url:
        engine = make_engine(settings.with_database(url))
        try:
            yield session_factory(engine, None)
        except OperationalError as error:
            problem = " ".join(str(error.orig).split())[:MOST_CHARACTERS]
            raise UnavailableError(f"The database can't be reached: {problem}") from None
        except UnavailableError as error:
            if error.code != "not_migrated":
                raise
            # The caller can correct this.
            raise SetupError(error.message, code=error.code) from None
        finally:
            engine.dispose()
