"""Where the processes of a job stand at the wall limit: what they answer to a signal, and what is seen from outside. Hostile text.

The harness in a Python process answers by `faulthandler`, in C, on the report channel. Not asked are processes that the signal would end,
that can't take it now, or that catch every signal.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worker.contract import KIB
from worker.sandbox.job import Stream
from worker.sandbox.process import streams
from worker.sandbox.resources import processes

# As in the harness.
STACKS_SIGNAL = 61
STACKS_BYTES = 64 * KIB
# All processes together; the job is over, and what it does meanwhile counts no more.
COLLECT_SECONDS = 2.0
_PROCESS_BYTES = 16 * KIB
_MOST_PROCESSES = 128
_LOOK_SECONDS = 0.005
# Looks in a row at a process that seems to have answered, or not to be able to.
_ENOUGH_LOOKS = 2
_SILENT_LOOKS = 10
_BIT = 1 << (STACKS_SIGNAL - 1)
# Who catches this one too catches them all, and with a handler of its own.
_NEIGHBOUR_BIT = _BIT >> 1
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in an uninterruptible call",
    "T": "stopped",
    "t": "traced",
    "Z": "ended",
}

# Reads for so many seconds what comes on the report channel; whether to stop.
Listen = Callable[[streams.Capture, float], bool]


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of /proc/<pid>/status and the threads' own."""

    pid_inside: int
    name: str
    state: str
    catches: bool
    pending: bool
    # Threads that take no such signal now: those that blocked it, and the one that answers.
    closed: frozenset[str]
    threads: int

    @property
    def can_take(self) -> bool:
        return self.state not in "TtDZ" and len(self.closed) < self.threads


def collect(pids: Sequence[int], listen: Listen) -> str:
    """Ask one after the other, so that answers don't mix; with no time left, only look."""
    until = time.monotonic() + COLLECT_SECONDS
    parts: list[str] = []
    stopped = False
    for pid in sorted(pids)[:_MOST_PROCESSES]:
        seen = _look(pid)
        if seen is None:
            continue
        where = _waits_in(pid)
        answer = streams.Capture(keep_bytes=_PROCESS_BYTES)
        if seen.catches and not stopped and time.monotonic() < until:
            stopped = _ask(pid, seen, answer, listen, until)
        parts.append(_told(seen, where, answer.stream()))
    if len(pids) > _MOST_PROCESSES:
        parts.append(f"{len(pids) - _MOST_PROCESSES} more processes\n")
    return "\n".join(parts)[:STACKS_BYTES]


def _ask(pid: int, before: _Seen, answer: streams.Capture, listen: Listen, until: float) -> bool:
    """Send the signal and wait until the process has answered; whether to stop asking."""
    if not before.can_take or not _send(pid):
        return False
    quiet = 0
    while time.monotonic() < until:
        heard = answer.total_bytes
        if listen(answer, _LOOK_SECONDS):
            return True
        seen = _look(pid)
        if seen is None:
            break
        # The kernel holds the signal back in the thread that handles it.
        busy = (
            bool(seen.closed - before.closed)
            or answer.total_bytes > heard
            or (seen.pending and seen.can_take)
        )
        quiet = 0 if busy else quiet + 1
        if quiet >= (_ENOUGH_LOOKS if answer.total_bytes else _SILENT_LOOKS):
            break
    return False


def _send(pid: int) -> bool:
    """By a descriptor, so that no process that came after it under the same number is meant."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        seen = _look(pid)
        if seen is None or not seen.catches:
            return False
        signal.pidfd_send_signal(fd, STACKS_SIGNAL)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _look(pid: int) -> _Seen | None:
    try:
        fields = processes.status(f"/proc/{pid}/status")
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return None
    closed, pending = set(), bool(int(fields.get("ShdPnd", "0"), 16) & _BIT)
    for thread in threads:
        try:
            own = processes.status(f"/proc/{pid}/task/{thread}/status")
        except OSError:
            continue
        pending = pending or bool(int(own.get("SigPnd", "0"), 16) & _BIT)
        if int(own.get("SigBlk", "0"), 16) & _BIT:
            closed.add(thread)
    return _Seen(
        pid_inside=int(fields.get("NSpid", str(pid)).split()[-1]),
        name="".join(character if character.isprintable() else "?" for character in fields.get("Name", "")),
        state=fields.get("State", "?")[:1],
        catches=int(fields.get("SigCgt", "0"), 16) & (_BIT | _NEIGHBOUR_BIT) == _BIT,
        pending=pending,
        closed=frozenset(closed),
        threads=len(threads),
    )


def _waits_in(pid: int) -> str:
    """The kernel function in which the main thread waits, where this node may know."""
    try:
        with open(f"/proc/{pid}/wchan", "rb") as file:  # noqa: PTH123
            name = file.read(128).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return name if name.isidentifier() else ""


def _told(seen: _Seen, where: str, answer: Stream) -> str:
    state = _STATES.get(seen.state, seen.state)
    head = f"Process {seen.pid_inside} ({seen.name}), {state}{f' in {where}' if where else ''}, {seen.threads} thread(s)\n"
    text = answer.head.decode("utf-8", "replace")
    if answer.truncated:
        text += "\n[...]\n"
    return head + text + answer.tail.decode("utf-8", "replace")
