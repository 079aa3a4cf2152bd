"""The database of the service, for commands that work on it directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.command.service.configuration import load_settings
from app.errors import SetupError, UnavailableError
from worker.contract.log import log_to_stderr

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, sessionmaker


MOST_CHARACTERS = 500


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
