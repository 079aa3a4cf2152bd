"""`python -m app.serve.standing`: write down what stands of every report, for rows from before that was kept."""

from __future__ import annotations

import sys

from app.errors import SetupError
from app.runs.standing import keep_all_standing
from app.serve.database import database
from app.settings import ServiceSettings
from app.storage.session import make_engine, session_factory


def main() -> int:
    """May run beside the service, and again."""
    settings = ServiceSettings()
    try:
        with database(settings) as url:
            engine = make_engine(settings.model_copy(update={"database_url": url}))
            try:
                done = keep_all_standing(session_factory(engine, None))
            finally:
                engine.dispose()
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    sys.stdout.write(f"{done} reports\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
