"""`python -m app.tasks worker` records messages and dispatches; `python -m app.tasks beat` schedules the
rounds.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings

from celery.exceptions import SecurityWarning

from app.storage.broker import QUEUE_DISPATCHER
from app.tasks.celery_app import Service, build
from worker.contract.log import log_to_stderr
from worker.contract.names import QUEUE_RECORDER

THREADS = 4


def _worker(service: Service, queues: list[str]) -> int:
    worker = service.celery.Worker(
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


def _beat(service: Service) -> int:
    # The schedule is in memory, so every round is due at the start.
    service.celery.Beat(loglevel="WARNING", quiet=True, pidfile=None).run()
    return 0


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
    log_to_stderr()
    # Celery warns when it runs as root, as in a container. Only JSON is accepted, and no untrusted code runs
    # here.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    service = build()
    return _worker(service, chosen.queues.split(",")) if chosen.process == "worker" else _beat(service)


if __name__ == "__main__":
    sys.exit(main())
