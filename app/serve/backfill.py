"""`python -m app.serve.backfill {search,standing,webhook-keys}`: bring older rows up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from sqlalchemy.orm import Session, sessionmaker

from app.errors import SetupError
from app.runs.lifecycle.report_verdict import store_all_report_verdicts
from app.runs.rows.search_index import index_all_reports
from app.runs.webhooks.sealing import seal_all
from app.serve.database import database
from app.settings import ServiceSettings, read_settings
from app.storage.session import make_engine, session_factory
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder

_KINDS: Mapping[str, Callable[[sessionmaker[Session], ServiceSettings], int]] = {
    "search": lambda factory, _settings: index_all_reports(factory),
    "standing": lambda factory, _settings: store_all_report_verdicts(factory),
    "webhook-keys": seal_all,
}


def main(arguments: list[str] | None = None) -> int:
    """Bring one kind of columns up to date, and print the number of rows that changed.

    It may run while the service runs, and it is safe to repeat.
    """
    parser = argparse.ArgumentParser(
        prog="python -m app.serve.backfill", description="Fill in the columns that older reports do not have."
    )
    parser.add_argument(
        "kind",
        choices=_KINDS,
        help="the search index, the current verdict, or the encryption of webhooks' keys",
    )
    kind = parser.parse_args(arguments).kind
    try:
        settings = read_settings()
        log_to_stderr("backfill", settings)
        with database(settings) as url:
            engine = make_engine(settings.with_database(url))
            try:
                count = _KINDS[kind](session_factory(engine, None), settings)
            finally:
                engine.dispose()
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    sys.stdout.write(f"{count} {'webhooks' if kind == 'webhook-keys' else 'reports'}\n")
    return 0


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
