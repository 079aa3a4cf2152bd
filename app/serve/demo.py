"""`samehere serve --demo`: a service of its own beside the ordinary one, with recorded runs as its history."""

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
    """The same, on a home below the ordinary one. Raises SetupError where a server is named, which may hold somebody's real history."""
    if settings.database_url is not None or settings.broker_url is not None:
        raise SetupError(
            "a demo has a database and a broker of its own, so that it never mixes with a real history: unset SAMEHERE_DATABASE_URL and"
            " SAMEHERE_BROKER_URL"
        )
    # Nobody asked this machine to run a history again that others recorded; who wants it says so.
    rerun = settings.rerun and "SAMEHERE_RERUN" in os.environ
    return settings.model_copy(update={"home": settings.home / FOLDER, "demo": True, "rerun": rerun})


def demo_environment(settings: ServiceSettings, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for the processes of a demo: it uses the toolchains that are there."""
    toolchains = environment.get("SAMEHERE_TOOLCHAINS") or str(settings.home.absolute().parent / "toolchains")
    own = {
        "SAMEHERE_DEMO": "true",
        "SAMEHERE_RERUN": str(settings.rerun).lower(),
        "SAMEHERE_TOOLCHAINS": toolchains,
    }
    return {**environment, **own}


def load_history(database_url: str, settings: ServiceSettings, *, folder: Path = HISTORY) -> int:
    """Take in the recorded runs that are not there yet; how many that were. Raises SetupError."""
    from app.runs.exchange.replay import replay
    from app.storage.session import make_engine, session_factory

    engine = make_engine(settings.model_copy(update={"database_url": database_url}))
    try:
        with session_factory(engine, None).begin() as session:
            return replay(session, folder)
    except InputError as error:
        raise SetupError(f"the recorded history can't be used: {error.message}") from error
    finally:
        engine.dispose()
