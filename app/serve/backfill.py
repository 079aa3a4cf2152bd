"""`python -m app.serve.backfill {search,standing}`: fill in columns that older rows do not have."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from sqlalchemy.orm import Session, sessionmaker

from app.errors import SetupError
from app.runs.lifecycle.report_verdict import store_all_report_verdicts
from app.runs.rows.search_index import index_all_reports
from app.serve.database import database
from app.settings import read_settings
from app.storage.session import make_engine, session_factory
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder

_KINDS: Mapping[str, Callable[[sessionmaker[Session]], int]] = {
    "search": index_all_reports,
    "standing": store_all_report_verdicts,
}


def main(arguments: list[str] | None = None) -> int:
    """Fill in one kind of columns, and print the number of reports that changed.

    It may run while the service runs, and it is safe to repeat.
    """
    parser = argparse.ArgumentParser(
        prog="python -m app.serve.backfill", description="Fill in the columns that older reports do not have."
    )
    parser.add_argument("kind", choices=_KINDS, help="the search index, or the current verdict")
    kind = parser.parse_args(arguments).kind
    try:
        settings = read_settings()
        log_to_stderr("backfill", settings)
        with database(settings) as url:
            engine = make_engine(settings.with_database(url))
            try:
                count = _KINDS[kind](session_factory(engine, None))
            finally:
                engine.dispose()
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    sys.stdout.write(f"{count} reports\n")
    return 0


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
