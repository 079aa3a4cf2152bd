"""The log of every process: one JSON object a line on standard error, in UTC.

An event has a constant name and ids. It never holds text of a report, a script or its output, nor a secret:
tracebacks have neither local variables nor messages, and addresses lose their passwords.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import threading
import time
from types import TracebackType
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from worker.contract.log_settings import LogForm, LogSettings
from worker.contract.settings.names import unknown_settings

# So long the warnings of one kind are counted together.
WINDOW_SECONDS = 10.0
_FRAMES = 40
_CHAIN = 5
# The password in an address: up to the last @, since a password may hold any character.
_PASSWORD = re.compile(r"(://[^\s:/@]{0,200}:)[^\s'\"]{1,500}@")
# Trouble that comes and goes by itself: one line says it, and a traceback would add nothing. The names are
# compared, because a node has no database driver.
_EXPECTED = {
    ("builtins", "ConnectionError"),
    ("builtins", "TimeoutError"),
    ("redis", "ConnectionError"),
    ("redis", "TimeoutError"),
    ("kombu", "OperationalError"),
    ("sqlalchemy", "OperationalError"),
    ("sqlalchemy", "InterfaceError"),
    ("sqlalchemy", "TimeoutError"),
    ("psycopg", "OperationalError"),
    ("celery", "Reject"),
    ("app", "UnavailableError"),
}


def without_password(text: str) -> str:
    """The text with `***` for the password of every address in it."""
    return _PASSWORD.sub(r"\1***@", text)


def current_request_id() -> str | None:
    """The id of the HTTP request that is answered, if there is one."""
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    return str(request_id) if request_id else None


def log_to_stderr(process: str, settings: LogSettings | None = None, *, form: LogForm | None = None) -> None:
    """Set up the log of this process. Call it once, before the first event.

    `process` is the name on each line. `form` is used if the settings name none.
    """
    chosen = settings if settings is not None else LogSettings()
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _Process(process),
        _describe_exception,
        _hide_passwords,
    ]
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, chosen.log_level.upper())),
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = _Handler(process, most=chosen.log_repeats)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(chosen.log_form or form),
            ],
            foreign_pre_chain=[_name_foreign_event, *shared],
            use_get_message=False,
            pass_foreign_args=True,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for room in ("app", "worker"):
        logging.getLogger(room).setLevel(logging.DEBUG)
    logging.captureWarnings(capture=True)
    # The reader of our output may be gone. That must not end the process.
    logging.raiseExceptions = False
    atexit.register(handler.write_sums)
    for name, nearest in unknown_settings(os.environ).items():
        structlog.get_logger(__name__).warning("unknown_setting", variable=name[:60], nearest=nearest)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread


def _renderer(form: LogForm | None) -> Processor:
    if (form or ("text" if sys.stderr.isatty() else "json")) == "json":
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(colors=False, timestamp_key="time")


class _Process:
    """Adds the name of the process to each line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event.setdefault("process", self._name)
        return event


def _name_foreign_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The event of another library: its template, without the texts put into it.

    Celery puts whole messages into its lines, and these hold scripts.
    """
    record: logging.LogRecord = event["_record"]
    arguments = event.pop("positional_args", ())
    event["logger"] = record.name
    template = str(event["event"])
    if isinstance(arguments, dict):
        arguments = {name: _safe_argument(value) for name, value in arguments.items()}
    elif arguments:
        arguments = tuple(_safe_argument(value) for value in arguments)
    try:
        text = template % arguments if arguments else template
    except (TypeError, ValueError, KeyError):
        text = template
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    event["event"] = lines[0] if lines else record.name
    return event


def _safe_argument(value: object) -> object:
    if isinstance(value, (int, float)):
        return value
    return type(value).__name__ if isinstance(value, BaseException) else "…"


def _describe_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace an exception by its kind, and by the places of its traceback unless it is expected."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    event.pop("stack_info", None)
    if not isinstance(error, BaseException):
        return event
    event["error"] = type(error).__name__
    state = getattr(getattr(error, "orig", error), "sqlstate", None)
    if state:
        event["sqlstate"] = str(state)
    if not is_expected(error):
        event["traceback"] = _chain(error)
    return event


def is_expected(error: BaseException) -> bool:
    """Whether this trouble comes and goes by itself: a server is away, or a message was postponed."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__)
    return not _EXPECTED.isdisjoint(kinds)


def _chain(error: BaseException) -> list[str]:
    """The frames of an exception and of its causes, outermost first, each as `file:line function`."""
    lines: list[str] = []
    current: BaseException | None = error
    for _ in range(_CHAIN):
        if current is None:
            break
        lines.append(type(current).__name__)
        lines += _frames(current.__traceback__)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return lines


def _frames(traceback: TracebackType | None) -> list[str]:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames[-_FRAMES:]


def _hide_passwords(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for name, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[name] = without_password(value)
    return event


def _log_uncaught(_kind: type[BaseException], error: BaseException, _traceback: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        return
    structlog.get_logger(__name__).error("uncaught", exc_info=error)


def _log_uncaught_in_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
        structlog.get_logger(__name__).error("uncaught", exc_info=arguments.exc_value)


class _Handler(logging.StreamHandler[Any]):
    """Writes to standard error: some lines of one kind of trouble, and later the number of the others.

    Its caller holds its lock.
    """

    def __init__(self, process: str, *, most: int) -> None:
        super().__init__(sys.stderr)
        self._process = process
        self._most = most
        # For each kind: when its window began, and how many lines came since then.
        self._windows: dict[tuple[str, ...], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        moment = time.monotonic()
        self._write_sums(ended_before=moment - WINDOW_SECONDS)
        if record.levelno < logging.WARNING:
            super().emit(record)
            return
        kind = _kind(record)
        since, count = self._windows.get(kind, (moment, 0))
        self._windows[kind] = since, count + 1
        if count < self._most:
            super().emit(record)

    def write_sums(self) -> None:
        """Write the numbers of all lines that were not written."""
        with self.lock or threading.RLock():
            self._write_sums(ended_before=float("inf"))

    def _write_sums(self, *, ended_before: float) -> None:
        for kind, (since, count) in list(self._windows.items()):
            if since > ended_before:
                continue
            del self._windows[kind]
            if count > self._most:
                name, event, *details = kind
                line = {
                    "event": "repeated",
                    "process": self._process,
                    "level": "warning",
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "of": event,
                    "details": [detail for detail in details if detail],
                    "not_written": count - self._most,
                }
                record = logging.LogRecord(name, logging.WARNING, "", 0, line, (), None)
                record.__dict__.update(_logger=None, _name="warning")
                super().emit(record)


def _kind(record: logging.LogRecord) -> tuple[str, ...]:
    """The event, the kind of the error and a stable code: lines that agree in them are the same trouble."""
    if not isinstance(record.msg, dict):
        error = record.exc_info[1] if record.exc_info else None
        return record.name, str(record.msg).strip(), type(error).__name__ if error else ""
    line = record.msg
    parts = (str(line.get(name, "")) for name in ("error", "code", "problem", "kind", "route"))
    return record.name, str(line.get("event", "")), *parts
