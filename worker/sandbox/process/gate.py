"""The gate of one job: the node opens device nodes for a program, and may let it wait for them.

A filter (`worker.sandbox.isolation.gate_filter`) stops each open for reading and writing, and the kernel
reports it here. An open of another path goes on as if nothing had happened. An open of a device node waits
until the job may use its cards; then the node opens it, and the kernel puts the descriptor into the program.
The program can't open the nodes itself: they lie on a mount without devices.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# `ioctl` requests of a listener, and the parts of `struct seccomp_notif`: id, pid, flags, number of the call,
# architecture, instruction pointer, six arguments.
_RECEIVE, _SEND, _IS_VALID, _ADD_FD = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_CONTINUE, _ADD_AND_SEND = 1, 1 << 1
# The calls that open by path: the positions of the path and of the flags.
_OPENS = {"x86_64": {2: (0, 1), 257: (1, 2)}, "aarch64": {56: (1, 2)}}
# The calls `setresuid` and `setresgid`.
_SET_IDS = {"x86_64": (117, 119), "aarch64": (147, 149)}
_LONGEST_PATH = 64
# How often waiting opens are tried again, and how long the thread sleeps at most without any.
_TRY_MS, _IDLE_MS = 5, 50
# No useful program opens so many files for reading and writing; a hostile one must not take a core.
_BURST, _PER_SECOND, _REST_SECONDS = 2000.0, 1000.0, 0.005
_END_SECONDS = 5.0
# The driver opens a node within seconds, also if it has to wake the card.
_OPEN_SECONDS = 60.0


class Answer(StrEnum):
    """The answer to a job that touches its cards."""

    OPEN = "open"
    WAIT = "wait"
    NEVER = "never"


class Cards(Protocol):
    """The cards of a job, seen from its gate. A thread of the gate calls this."""

    def touch(self) -> Answer:
        """Take the cards if they are free. Called again and again while the answer is WAIT."""

    def leave(self) -> None:
        """Nobody waits for the cards any more."""

    def fail(self, why: str) -> None:
        """The driver does not open the cards."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An open that waits: the id of its notification, the path of the node, and the flags."""

    ident: int
    node: str
    flags: int


class Gate:
    """Answers the opens of one run of a job, in a thread of its own.

    `nodes` are the paths of the device nodes, the same inside and outside. The job waits for `cards` at most
    `most_seconds`.
    """

    def __init__(self, nodes: Sequence[str], cards: Cards, *, most_seconds: float) -> None:
        self._nodes = frozenset(nodes)
        self._cards = cards
        self._most_seconds = most_seconds
        self._positions = _OPENS[platform.machine()]
        self._is_open = False
        self._waiting: list[_Open] = []
        self._waited_before = 0.0
        self._waits_since: float | None = None
        self._opened: set[str] = set()
        # The node that is being opened, and since when.
        self._opening: tuple[str, float] | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        # Why the job can't have its cards. Empty while it can.
        self.refusal = ""
        # Why the gate stopped answering before the job ended. Empty if it did not.
        self.fault = ""

    @property
    def waited_seconds(self) -> float:
        """How long the job has waited for its cards until now."""
        since = self._waits_since
        return self._waited_before + (0.0 if since is None else time.monotonic() - since)

    @property
    def is_waiting(self) -> bool:
        return self._waits_since is not None

    @property
    def opened(self) -> frozenset[str]:
        """The nodes that the program got."""
        return frozenset(self._opened)

    def check(self) -> None:
        """Look whether the driver hangs while it opens a node. Then the gate has a fault.

        Called by the supervision: the gate's own thread hangs with the driver, and can't be stopped.
        """
        opening = self._opening
        if opening is None or self.fault or time.monotonic() - opening[1] < _OPEN_SECONDS:
            return
        self.fault = f"the driver did not open {opening[0]} within {_OPEN_SECONDS:g} s"
        self._cards.fail(self.fault)

    def listen(self, listener: int) -> None:
        """Answer from now on. The gate closes the listener."""
        self._thread = threading.Thread(target=self._run, args=(listener,), name="gate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop. Called when no process of the job is left."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def _run(self, listener: int) -> None:
        try:
            self._serve(listener)
        except Exception as error:  # noqa: BLE001
            # The boundary of the thread. From now on opens fail in the program (ENOSYS): the job has to end.
            self.fault = f"the gate failed: {type(error).__name__}: {error}"
        finally:
            self._stop_clock()
            os.close(listener)
            self._cards.leave()

    def _serve(self, listener: int) -> None:
        """Let opens of nodes wait until the cards are there, and answer all others meanwhile."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        allowance, filled_at = _BURST, time.monotonic()
        while not self._ending.is_set():
            events = poll.poll(_TRY_MS if self._waiting else _IDLE_MS)
            if self._waiting:
                self._try(listener)
            if not events:
                continue
            if not events[0][1] & select.POLLIN:
                # No process has the filter any more.
                return
            self._receive(listener)
            now = time.monotonic()
            allowance, filled_at = min(_BURST, allowance + _PER_SECOND * (now - filled_at)) - 1, now
            if allowance < 0:
                self._ending.wait(_REST_SECONDS)

    def _receive(self, listener: int) -> None:
        message = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, message)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.EINTR}:
                # The thread that opened was killed meanwhile.
                return
            raise
        ident, pid, _, number, _, _, *arguments = _NOTIFICATION.unpack(message)
        path_at, flags_at = self._positions[number]
        # The path may change after this look. Then the kernel opens that one, which is no device node.
        path = _read_path(pid, arguments[path_at])
        if path not in self._nodes:
            _send(listener, ident)
            return
        self._waiting.append(_Open(ident, path, arguments[flags_at] & 0xFFFFFFFF))
        if self._waits_since is None:
            self._waits_since = time.monotonic()
        self._try(listener)

    def _try(self, listener: int) -> None:
        """Open what waits if the cards are there."""
        if self.refusal:
            return
        answer = Answer.OPEN if self._is_open else self._cards.touch()
        if answer is Answer.NEVER:
            self.refusal = "its card went out of use"
        elif answer is Answer.WAIT:
            self._waiting = [each for each in self._waiting if _is_valid(listener, each.ident)]
            if not self._waiting:
                self._stop_clock()
                self._cards.leave()
            elif self.waited_seconds > self._most_seconds:
                self.refusal = f"its card was not free within {self._most_seconds:g} s"
        else:
            self._is_open = True
            for each in self._waiting:
                self._open(listener, each)
            self._waiting.clear()
            self._stop_clock()

    def _open(self, listener: int, waiting: _Open) -> None:
        """Open a node, and put its descriptor into the program."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY | (waiting.flags & os.O_NONBLOCK)
        self._opening = (waiting.node, time.monotonic())
        try:
            fd = os.open(waiting.node, flags)
        except OSError as error:
            _send(listener, waiting.ident, error=error.errno or errno.EIO)
            return
        finally:
            self._opening = None
        # id, flags, descriptor here, descriptor there (the kernel chooses), and its O_CLOEXEC.
        addition = struct.pack("=QIIII", waiting.ident, _ADD_AND_SEND, fd, 0, waiting.flags & os.O_CLOEXEC)
        try:
            fcntl.ioctl(listener, _ADD_FD, addition)
            self._opened.add(waiting.node)
        except OSError as error:
            # Its table of files is full, or it has ended.
            _send(listener, waiting.ident, error=error.errno or errno.EMFILE)
        finally:
            os.close(fd)

    def _stop_clock(self) -> None:
        if self._waits_since is not None:
            self._waited_before += time.monotonic() - self._waits_since
            self._waits_since = None


def _is_valid(listener: int, ident: int) -> bool:
    """False if the thread that waits for this answer has ended."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", ident))
    except OSError:
        return False
    return True


def _send(listener: int, ident: int, *, error: int = 0) -> None:
    """Let the call go on as it is, or fail."""
    answer = bytearray(struct.pack("=QqiI", ident, 0, -error, 0 if error else _CONTINUE))
    try:
        fcntl.ioctl(listener, _SEND, answer)
    except OSError:
        # The thread has ended.
        return


def _read_path(pid: int, address: int) -> str:
    """The beginning of the text at an address of a process; empty if it can't be read."""
    try:
        fd = _open_memory(pid)
    except OSError:
        return ""
    try:
        return os.pread(fd, _LONGEST_PATH, address).split(b"\0", 1)[0].decode("latin-1")
    except (OSError, OverflowError):
        return ""
    finally:
        os.close(fd)


def _open_memory(pid: int) -> int:
    """A descriptor of a process's memory. Raises OSError.

    Root in a container may lack the right to it. The slot's user has it, whose namespace it is.
    """
    path = f"/proc/{pid}/mem"
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        uid = os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
        if os.geteuid() != 0 or uid == 0:
            raise
    with _as_user(uid):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


@contextmanager
def _as_user(uid: int) -> Iterator[None]:
    """Let this thread alone act as a user. Raises OSError if that is refused.

    The C library's functions would change all threads of the process.
    """
    set_uid, set_gid = _SET_IDS[platform.machine()]

    def act_as(number: int, call: int) -> None:
        if _libc.syscall(call, -1, number, -1) != 0:
            raise OSError(ctypes.get_errno(), "a thread of the node can't change its user")

    act_as(uid, set_gid)
    try:
        act_as(uid, set_uid)
        try:
            yield
        finally:
            act_as(0, set_uid)
    finally:
        act_as(0, set_gid)
