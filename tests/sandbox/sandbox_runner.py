"""Runs jobs in another process, as root or as a plain user. Run by its path, this file is that process."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from worker.contract import Level
from worker.sandbox import Answer, Gate, Sandbox, SandboxJob, SandboxResult
from worker.sandbox.isolation import private_mounts
from worker.sandbox.resources import cgroup

ROOT = Path(__file__).resolve().parents[2]
PLAIN_UID = 47999
AS_ROOT = os.geteuid() == 0
SECRET = "hunter2-in-the-environment-of-the-node"


def _send(stream: BinaryIO, value: object) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("!I", len(data)) + data)
    stream.flush()


def _receive(stream: BinaryIO) -> object:
    header = stream.read(4)
    if len(header) < 4:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("!I", header)[0]))  # noqa: S301 - our own process


@dataclass(frozen=True)
class GateFacts:
    """What a gate saw of a run."""

    waited_seconds: float
    opened: frozenset[str]
    touches: int


class SomeCards:
    """Cards that are free so many seconds after their first touch, or `gone`, or `broken`."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._first_at = 0.0
        self.touches = 0

    def touch(self) -> Answer:
        self.touches += 1
        self._first_at = self._first_at or time.monotonic()
        if self._state == "broken":
            raise RuntimeError("the driver is gone")
        if self._state == "gone":
            return Answer.NEVER
        return Answer.OPEN if time.monotonic() - self._first_at >= float(self._state) else Answer.WAIT

    def fail(self, why: str) -> None:
        raise AssertionError(why)

    def leave(self) -> None:
        """There is no line."""


class Runner:
    """A slot of a node in another process."""

    def __init__(self, *, level: Level, home: Path, uid: int | None = None, slot: int = 0) -> None:
        self.level = level
        self.uid = uid
        self.slot = slot
        prefix = readable_prefix(uid=uid)
        path = readable_path(uid=uid)
        here = str(Path(path[0], Path(__file__).resolve().relative_to(ROOT)))
        self.process = subprocess.Popen(
            [NODE_PYTHON.replace(sys.base_prefix, prefix, 1), here, level.value, str(home), str(slot)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "PYTHONPATH": ":".join(path),
                "LD_LIBRARY_PATH": f"{prefix}/lib",
                "NODE_SECRET": SECRET,
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        self.sandbox_uid = _receive(self._stdout)

    @property
    def folder(self) -> Path:
        """The folder of its jobs without namespaces."""
        return Path(tempfile.gettempdir(), f"samehere-job-{self.sandbox_uid}-{self.slot}")

    @property
    def _stdout(self) -> BinaryIO:
        assert self.process.stdout is not None
        return self.process.stdout  # type: ignore[return-value]

    def run(self, job: SandboxJob, *, cancel_after: float | None = None) -> SandboxResult:
        self.start(job, cancel_after=cancel_after)
        return self.result()

    def start(self, job: SandboxJob, *, cancel_after: float | None = None) -> None:
        assert self.process.stdin is not None
        _send(self.process.stdin, ("run", job, cancel_after))  # type: ignore[arg-type]

    def result(self) -> SandboxResult:
        result = _receive(self._stdout)
        assert isinstance(result, SandboxResult)
        return result

    def run_gated(
        self, job: SandboxJob, *, state: str, most_seconds: float, cancel_after: float | None = None
    ) -> tuple[SandboxResult, GateFacts]:
        """Run a gated job. `state` of its card is as in `SomeCards`."""
        assert self.process.stdin is not None
        _send(self.process.stdin, ("gated", (job, state, most_seconds), cancel_after))  # type: ignore[arg-type]
        answer = _receive(self._stdout)
        assert isinstance(answer, tuple), answer
        result, *facts = answer
        return result, GateFacts(*facts)

    def ask(self, what: str) -> object:
        assert self.process.stdin is not None
        _send(self.process.stdin, (what, None, None))  # type: ignore[arg-type]
        return _receive(self._stdout)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._stdout.close()
        if self.process.wait(20) not in (0, -signal.SIGKILL):
            raise AssertionError(f"the runner ended with {self.process.returncode}")


NODE_PYTHON = str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}"))


def readable_prefix(*, uid: int | None) -> str:
    """The prefix of this interpreter at a path that the uid can read."""
    return sys.base_prefix if uid is None else private_mounts.show(sys.base_prefix, uid=uid)


def readable_path(*, uid: int | None) -> list[str]:
    """The checkout and the installed packages at paths that the uid can read: they may lie in root's home."""
    path = [str(ROOT), *(entry for entry in sys.path if entry.endswith("site-packages"))]
    return path if uid is None else [private_mounts.show(entry, uid=uid) for entry in path]


def make_runner(kind: str, home: Path) -> Runner:
    if kind == "counted" and cgroup.find().parents is None:
        import pytest

        pytest.skip(cgroup.find().detail)
    levels = {
        "counted": Level.NAMESPACES_CGROUP,
        "landlock": Level.LANDLOCK,
        "landlock-plain": Level.LANDLOCK,
    }
    uid = PLAIN_UID if kind.endswith("plain") and AS_ROOT else None
    return Runner(
        level=levels.get(kind, Level.NAMESPACES),
        home=home,
        uid=uid,
        slot=own_slot() if kind.startswith("landlock") else 0,
    )


_slots = itertools.count()


def own_slot() -> int:
    """A slot that no other test process uses: without namespaces, its uid and folder identify jobs."""
    return 1000 + 8 * (os.getpid() % 1000) + next(_slots) % 8


def _open_descriptors() -> list[str]:
    rows = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            rows.append(str(link.readlink()))
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    return sorted(rows)


def _run_gated(
    sandbox: Sandbox, job: SandboxJob, state: str, most_seconds: float, cancelled: threading.Event
) -> tuple[object, ...]:
    cards = SomeCards(state)
    gate = Gate(job.devices, cards, most_seconds=most_seconds)
    result = sandbox.run(replace(job, gated=True), cancelled=cancelled, gate=gate)
    return result, gate.waited_seconds, gate.opened, cards.touches


def main() -> None:
    sandbox = Sandbox(slot=int(sys.argv[3]), home=Path(sys.argv[2]), level=Level(sys.argv[1]))
    # An inheritable descriptor of a secret, as a careless library might leave it open.
    planted = os.memfd_create("planted-in-the-node", 0)
    os.write(planted, SECRET.encode())
    os.set_inheritable(planted, True)
    _send(sys.stdout.buffer, sandbox._identity.effective)  # type: ignore[arg-type]
    while True:
        try:
            what, job, cancel_after = _receive(sys.stdin.buffer)  # type: ignore[misc,arg-type]
        except EOFError:
            return
        if what == "descriptors":
            _send(sys.stdout.buffer, _open_descriptors())  # type: ignore[arg-type]
            continue
        if what == "lost":
            _send(sys.stdout.buffer, len(sandbox._unkillable))  # type: ignore[arg-type]
            continue
        if what == "self_test":
            _send(sys.stdout.buffer, sandbox.self_test())  # type: ignore[arg-type]
            continue
        if what == "test_gate":
            _send(sys.stdout.buffer, sandbox.test_gate())  # type: ignore[arg-type]
            continue
        cancelled = threading.Event()
        timer = threading.Timer(cancel_after, cancelled.set) if cancel_after is not None else None
        if timer:
            timer.start()
        if what == "gated":
            _send(sys.stdout.buffer, _run_gated(sandbox, *job, cancelled))  # type: ignore[arg-type,misc]
        else:
            _send(sys.stdout.buffer, sandbox.run(job, cancelled=cancelled))  # type: ignore[arg-type]
        if timer:
            timer.cancel()


if __name__ == "__main__":
    main()
