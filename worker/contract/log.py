"""The log of every process: one JSON object per line on standard error.

An event has a constant name and ids. It never holds text of a report, a script or its output.
"""

from __future__ import annotations

import logging
import sys

import structlog


def log_to_stderr(level: int = logging.INFO) -> None:
    """Set up the log of this process. Call it once, before the first event.

    `level` is the lowest level of our own events that is written; other libraries write from WARNING.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
