"""Collects the stacks of a job's processes at the wall limit. The text is untrusted.

A signal makes the harness in each Python process write its stacks to the report channel, by `faulthandler`.
It is not sent to processes that it would end, that can't take it now, or that catch every signal. For these,
the text has only facts that are visible from outside.
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

# `worker/harness/watch.py` uses the same number.
STACKS_SIGNAL = 61
STACKS_BYTES = 64 * KIB
# For all processes together. The job is over: its actions meanwhile no longer count.
COLLECT_SECONDS = 2.0
_PROCESS_BYTES = 16 * KIB
_MOST_PROCESSES = 128
_LOOK_SECONDS = 0.005
# Looks in a row without activity, after which a process has answered, or will not answer.
_ENOUGH_LOOKS = 2
_SILENT_LOOKS = 10
_BIT = 1 << (STACKS_SIGNAL - 1)
# A process that also catches this signal has a handler of its own for all signals.
_NEIGHBOUR_BIT = _BIT >> 1
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in an uninterruptible call",
    "T": "stopped",
    "t": "traced",
    "Z": "ended",
}

# Reads the report channel for a number of seconds; returns whether to stop.
Listen = Callable[[streams.Capture, float], bool]


@dataclass(frozen=True, slots=True)
class _ProcessState:
    """Facts from /proc/<pid>/status and its threads' status files."""

    pid_inside: int
    name: str
    state: str
    catches: bool
    pending: bool
    # Threads that can't take the signal now: those that block it, and the one that handles it.
    closed: frozenset[str]
    threads: int

    @property
    def can_take(self) -> bool:
        return self.state not in "TtDZ" and len(self.closed) < self.threads


def collect(pids: Sequence[int], listen: Listen) -> str:
    """The stacks of these processes, one after the other, so that answers don't mix.

    When the time is over or `listen` says to stop, the rest is described without stacks.
    """
    until = time.monotonic() + COLLECT_SECONDS
    parts: list[str] = []
    stopped = False
    for pid in sorted(pids)[:_MOST_PROCESSES]:
        state = _look(pid)
        if state is None:
            continue
        where = _waits_in(pid)
        answer = streams.Capture(keep_bytes=_PROCESS_BYTES)
        if state.catches and not stopped and time.monotonic() < until:
            stopped = _ask(pid, state, answer, listen, until)
        parts.append(_describe(state, where, answer.stream()))
    if len(pids) > _MOST_PROCESSES:
        parts.append(f"{len(pids) - _MOST_PROCESSES} more processes\n")
    return "\n".join(parts)[:STACKS_BYTES]


def _ask(pid: int, before: _ProcessState, answer: streams.Capture, listen: Listen, until: float) -> bool:
    """Send the signal and wait until the process has answered. Returns whether to stop asking others."""
    if not before.can_take or not _send(pid):
        return False
    quiet = 0
    while time.monotonic() < until:
        bytes_before = answer.total_bytes
        if listen(answer, _LOOK_SECONDS):
            return True
        state = _look(pid)
        if state is None:
            break
        # The kernel blocks the signal in the thread that handles it.
        busy = (
            bool(state.closed - before.closed)
            or answer.total_bytes > bytes_before
            or (state.pending and state.can_take)
        )
        quiet = 0 if busy else quiet + 1
        if quiet >= (_ENOUGH_LOOKS if answer.total_bytes else _SILENT_LOOKS):
            break
    return False


def _send(pid: int) -> bool:
    """Send the signal through a pidfd, so that it can't reach a later process with the same id."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        state = _look(pid)
        if state is None or not state.catches:
            return False
        signal.pidfd_send_signal(fd, STACKS_SIGNAL)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _look(pid: int) -> _ProcessState | None:
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
    return _ProcessState(
        pid_inside=int(fields.get("NSpid", str(pid)).split()[-1]),
        name="".join(character if character.isprintable() else "?" for character in fields.get("Name", "")),
        state=fields.get("State", "?")[:1],
        catches=int(fields.get("SigCgt", "0"), 16) & (_BIT | _NEIGHBOUR_BIT) == _BIT,
        pending=pending,
        closed=frozenset(closed),
        threads=len(threads),
    )


def _waits_in(pid: int) -> str:
    """The kernel function in which the main thread waits; "" if this node may not read it."""
    try:
        with open(f"/proc/{pid}/wchan", "rb") as file:  # noqa: PTH123
            name = file.read(128).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return name if name.isidentifier() else ""


def _describe(process: _ProcessState, where: str, answer: Stream) -> str:
    state = _STATES.get(process.state, process.state) + (f" in {where}" if where else "")
    head = f"Process {process.pid_inside} ({process.name}), {state}, {process.threads} thread(s)\n"
    text = answer.head.decode("utf-8", "replace")
    if answer.truncated:
        text += "\n[...]\n"
    return head + text + answer.tail.decode("utf-8", "replace")
