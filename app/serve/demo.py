"""`samehere serve --demo`: a separate service with recorded runs as its history."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import app
from app.errors import InputError, SetupError
from app.settings import ServiceSettings

FOLDER = "demo"
HISTORY = Path(app.__file__).parent / "data" / "history"


def demo_settings(settings: ServiceSettings) -> ServiceSettings:
    """The settings of the demo, with a home below the ordinary one.

    Raises SetupError if they name a server, because that server may have a real history.
    """
    if settings.database_url is not None or settings.broker_url is not None:
        raise SetupError(
            "a demo has its own database and broker, so that it never mixes with a real history: "
            "unset SAMEHERE_DATABASE_URL and SAMEHERE_BROKER_URL"
        )
    # The recorded history should not run again on this machine, unless the user asks for it.
    rerun = settings.rerun and "SAMEHERE_RERUN" in os.environ
    return settings.model_copy(update={"home": settings.home / FOLDER, "demo": True, "rerun": rerun})


def demo_environment(settings: ServiceSettings, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for the processes of a demo. It uses the toolchains of the ordinary home."""
    toolchains = environment.get("SAMEHERE_TOOLCHAINS") or str(settings.home.absolute().parent / "toolchains")
    own = {
        "SAMEHERE_DEMO": "true",
        "SAMEHERE_RERUN": str(settings.rerun).lower(),
        "SAMEHERE_TOOLCHAINS": toolchains,
    }
    return {**environment, **own}


def load_history(database_url: str, settings: ServiceSettings, *, folder: Path = HISTORY) -> int:
    """Add the recorded runs that the database does not have, and return their number. Raises SetupError."""
    from app.runs.exchange.replay import replay
    from app.storage.session import make_engine, session_factory

    engine = make_engine(settings.with_database(database_url))
    try:
        with session_factory(engine, None).begin() as session:
            return replay(session, folder)
    except InputError as error:
        raise SetupError(f"the recorded history can't be used: {error.message}") from error
    finally:
        engine.dispose()
