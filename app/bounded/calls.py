"""Calls within limits: `call_within_limits(function, …)`. A process without set limits calls directly."""

from __future__ import annotations

import atexit
import hashlib
import pickle
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar, cast

from app.bounded.callers import Caller, Places, current_caller
from app.bounded.frames import Answer, CallLimits, receive_frame, send_frame
from app.cache import SizedCache
from app.errors import SamehereError, UnavailableError
from worker.contract.own_process import WORKING_FOLDER, own_environment, python_command

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
# Calls need these. Each fork has them without a start of its own.
PRELOADED = (
    "app.intake.read",
    "app.runs.run_object.assemble",
    "app.judging.verdict.attempts_needed",
    "app.runs.exchange.read_bundle",
)
# The limit of waiting, as a multiple of that of processor time. The forker's own is a little shorter.
_WAIT_FACTOR = 5
_START_SECONDS = 60.0


class OverLimitError(SamehereError):
    """A call took more time or memory than allowed."""

    code = "over_limit"


@dataclass(slots=True)
class Forker:
    """The forker of this process, and the places for its calls. It is started with the first call."""

    limits: CallLimits
    places: Places
    strangers: Places
    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: list[socket.socket] = field(default_factory=list)
    control: socket.socket | None = None
    process: subprocess.Popen[bytes] | None = None

    def connect(self) -> socket.socket:
        """A connection to a fork that waits for a call, or to a new one."""
        while self.idle:
            try:
                connection = self.idle.pop()
            except IndexError:
                break
            # One that can be read has ended.
            if not select.select([connection], [], [], 0)[0]:
                return connection
            connection.close()
        return self._connect_new()

    def _connect_new(self) -> socket.socket:
        """A connection to a new fork. The forker is started, or started again, if it does not run."""
        ours, theirs = socket.socketpair()
        with theirs, self.lock:
            for fresh in (False, True):
                if self.control is None or fresh:
                    self._start()
                try:
                    socket.send_fds(cast("socket.socket", self.control), [b"c"], [theirs.fileno()])
                except OSError:
                    continue
                return ours
        ours.close()
        raise UnavailableError("The process that reads texts does not start. Try again soon.", code="busy")

    def _start(self) -> None:
        self.close()
        self.control, theirs = socket.socketpair()
        with theirs:
            # It needs no setting, so it has none of our secrets.
            variables = {
                name: value for name, value in own_environment().items() if not name.startswith("SAMEHERE_")
            }
            self.process = subprocess.Popen(
                python_command("-m", "app.bounded.forker", str(theirs.fileno()), *PRELOADED),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=variables,
                cwd=WORKING_FOLDER,
            )

        # Its imports take seconds on a busy machine. They are not the time of a call.
        self.control.settimeout(_START_SECONDS)
        try:
            is_ready = self.control.recv(1) != b""
        except OSError:
            is_ready = False
        if not is_ready:
            self.close()
            raise UnavailableError(
                "The process that reads texts does not start. Try again soon.", code="busy"
            )
        self.control.settimeout(None)

    def close(self) -> None:
        """End the forker. Its forks end by themselves."""
        while self.idle:
            self.idle.pop().close()
        if self.control is not None:
            self.control.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.control = self.process = None


_forker: Forker | None = None
# Digests of calls over a limit. The same call is not tried again before an hour has passed.
_over_limit: SizedCache[str] = SizedCache(10_000, most_seconds=3600)


def set_limits(limits: CallLimits, *, at_once: int, strangers: int = 1) -> None:
    """From now on, calls of this process have these limits.

    At most `at_once` of them run together, and besides them `strangers` calls for strangers.
    """
    global _forker  # noqa: PLW0603  # one forker a process
    if _forker is not None:
        if (_forker.limits, _forker.places.at_once, _forker.strangers.at_once) == (
            limits,
            at_once,
            strangers,
        ):
            return
        _forker.close()
    _forker = Forker(limits, Places(at_once), Places(strangers, by_address=True))


def warm_up() -> None:
    """Start the forker in the background, so that the first call need not wait for it."""
    threading.Thread(target=_first_call, daemon=True).start()


def _first_call() -> None:
    # The process may be ending already.
    with suppress(SamehereError):
        call_within_limits(int)


def end() -> None:
    """End the forker of this process."""
    if _forker is not None:
        _forker.close()


atexit.register(end)


def call_within_limits(
    function: Callable[Parameters, Value], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Value:
    """The value of a pure function of a module.

    Raises what it raises; OverLimitError if it is over a limit; NoPlaceError if too many calls wait.
    """
    forker = _forker
    if forker is None:
        return function(*arguments, **keywords)
    call = pickle.dumps((function, arguments, keywords))
    digest = hashlib.sha256(call).hexdigest()
    known = _over_limit.find(digest)
    if known is not None:
        raise OverLimitError(known)
    caller = current_caller.get() or Caller(is_stranger=False)
    places = forker.strangers if caller.is_stranger else forker.places
    try:
        with places.take(caller.address):
            answer = _ask(forker, call)
    except OverLimitError as error:
        _over_limit.store(digest, error.message, 1)
        raise
    if answer.error is not None:
        raise answer.error
    return cast("Value", answer.value)


def _ask(forker: Forker, call: bytes) -> Answer:
    limits, connection = forker.limits, forker.connect()
    connection.settimeout(limits.seconds * _WAIT_FACTOR)
    started = time.monotonic()
    try:
        send_frame(connection, pickle.dumps((limits, call)))
        answer: Any = pickle.loads(receive_frame(connection))  # noqa: S301 - from our own fork
    except (EOFError, OSError):
        connection.close()
        if time.monotonic() - started < limits.seconds / 2:
            raise OverLimitError("Its process ended before it was done.") from None
        raise OverLimitError(f"It took longer than {limits.seconds:g} seconds of processor time.") from None
    if answer.out_of_memory:
        connection.close()
        raise OverLimitError(f"It needed more than {limits.memory_bytes} bytes of memory.")
    forker.idle.append(connection)
    return cast("Answer", answer)
