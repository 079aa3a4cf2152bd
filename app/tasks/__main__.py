"""`python -m app.tasks worker` records and dispatches; `python -m app.tasks beat` asks for rounds of work."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from typing import Any

import structlog
from celery.exceptions import SecurityWarning
from celery.signals import after_task_publish, setup_logging

from app.errors import SetupError, UnavailableError
from app.settings import ServiceSettings, read_settings
from app.storage.broker import QUEUE_DISPATCHER, Broker, require_password
from app.tasks.schedule import scheduled_application
from worker.contract.log import log_to_stderr
from worker.contract.names import QUEUE_RECORDER
from worker.contract.own_process import leave_current_folder

log = structlog.get_logger(__name__)

THREADS = 4


def _worker(queues: list[str]) -> int:
    # Imported here: beat needs none of it.
    from app.tasks.celery_app import build

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


def _beat() -> int:
    # The schedule is in memory, so every round is due at the start.
    settings = ServiceSettings()
    broker = Broker(settings)

    @after_task_publish.connect(weak=False)
    def _alive(**_facts: Any) -> None:
        try:
            broker.note_alive("beat")
        except UnavailableError:
            log.warning("broker_unavailable")

    scheduled_application(settings).Beat(loglevel="WARNING", quiet=True, pidfile=None).run()
    return 0


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
    # A receiver keeps Celery from setting up a log of its own.
    setup_logging.connect(_keep_log, weak=False)
    # Celery warns when it runs as root, as in a container. Only JSON is accepted, and no untrusted code runs
    # here.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    return _worker(chosen.queues.split(",")) if chosen.process == "worker" else _beat()


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
