"""`python -m app.tasks worker` records and dispatches; `python -m app.tasks beat` asks for rounds of work."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import warnings
from typing import Any

from app.errors import SetupError, UnavailableError
from app.settings import ServiceSettings, read_settings
from app.storage.broker_basics import QUEUE_DISPATCHER, require_password
from worker.contract.log import log_to_stderr
from worker.contract.names import QUEUE_RECORDER
from worker.contract.own_process import leave_current_folder

THREADS = 4


def _worker(queues: list[str]) -> int:
    # Imported here: beat needs none of it.
    from celery.exceptions import SecurityWarning
    from celery.signals import setup_logging

    from app.tasks.celery_app import build

    # A receiver keeps Celery from setting up a log of its own.
    setup_logging.connect(_keep_log, weak=False)
    # Celery warns when it runs as root, as in a container. Only JSON is accepted, and no untrusted code runs
    # here.
    warnings.filterwarnings("ignore", category=SecurityWarning)

    worker = build().celery.Worker(
        hostname="recorder@samehere",
        pool="threads",
        concurrency=THREADS,
        queues=queues,
        loglevel=logging.WARNING,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def _beat(settings: ServiceSettings) -> int:
    from app.tasks.schedule import run_beat

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        run_beat(settings)
    except UnavailableError as error:
        sys.stderr.write(f"{error.message}\n")
    return 1


def _end(_number: int, _frame: object) -> None:
    """Beat holds nothing that must be saved: it ends at once."""
    sys.exit(0)


def _keep_log(**_facts: Any) -> None:
    """The log is set up already."""


def main(arguments: list[str] | None = None) -> int:
    """Run one of the two processes until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m app.tasks", description=__doc__)
    parser.add_argument("process", choices=["worker", "beat"])
    parser.add_argument(
        "--queues",
        default=f"{QUEUE_RECORDER},{QUEUE_DISPATCHER}",
        help="queues that a worker consumes (default: %(default)s)",
    )
    chosen = parser.parse_args(arguments)
    try:
        settings = read_settings()
        log_to_stderr("recorder" if chosen.process == "worker" else "beat", settings)
        require_password(settings)
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    return _worker(chosen.queues.split(",")) if chosen.process == "worker" else _beat(settings)


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
