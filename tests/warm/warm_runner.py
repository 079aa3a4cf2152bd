"""A slot with paused interpreters in another process. Run by its path, this file is that process."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from warm_jobs import SMALL, Both

from worker.contract import Level, Limits
from worker.sandbox import Bind, Sandbox, SandboxResult
from worker.sandbox.isolation import private_mounts
from worker.sandbox.resources import cgroup
from worker.toolchains import ToolchainStore
from worker.warm.pool import WarmPool

ROOT = Path(__file__).resolve().parents[2]
PLAIN_UID = 47998
SECRET = "hunter2-in-the-environment-of-the-node"
SLOT = 8


def _send(stream: BinaryIO, value: object) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("!I", len(data)) + data)
    stream.flush()


def _receive(stream: BinaryIO) -> object:
    header = stream.read(4)
    if len(header) < 4:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("!I", header)[0]))  # noqa: S301 - our own process


class WarmRunner:
    """Kinds: `counted` (with cgroups), `polled` (without), `plain` (also not root), `once` (no forks)."""

    def __init__(self, kind: str, *, home: Path, toolchain: Path) -> None:
        uid = PLAIN_UID if kind == "plain" else None
        path = [str(ROOT), *(entry for entry in sys.path if entry.endswith("site-packages"))]
        prefix = sys.base_prefix
        if uid is not None:
            path, prefix = (
                [private_mounts.show(entry, uid=uid) for entry in path],
                private_mounts.show(prefix, uid=uid),
            )
            toolchain = Path(private_mounts.show(str(toolchain.parent), uid=uid), toolchain.name)
        here = Path(path[0], Path(__file__).resolve().relative_to(ROOT))
        python = str(Path(prefix, "bin", f"python3.{sys.version_info.minor}"))
        self.process = subprocess.Popen(
            [python, str(here), kind, str(home), str(toolchain), prefix],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "PYTHONPATH": ":".join([*path, str(here.parent)]),
                "LD_LIBRARY_PATH": f"{prefix}/lib",
                "NODE_SECRET": SECRET,
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self._stdout: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def start(self, script: str, *, limits: Limits = SMALL, cancel_after: float | None = None) -> None:
        _send(self._stdin, ("run", script, limits, cancel_after))

    def result(self) -> SandboxResult:
        result = _receive(self._stdout)
        assert isinstance(result, SandboxResult), result
        return result

    def run(self, script: str, *, limits: Limits = SMALL, cancel_after: float | None = None) -> SandboxResult:
        self.start(script, limits=limits, cancel_after=cancel_after)
        return self.result()

    def output_of(self, script: str, **options: object) -> str:
        result = self.run(script, **options)  # type: ignore[arg-type]
        assert (result.ending, result.exit_status) == ("exited", 0), (
            result.detail,
            result.stderr.head.decode(errors="replace"),
        )
        return result.stdout.head.decode()

    def ask(self, what: str) -> object:
        _send(self._stdin, (what, "", SMALL, None))
        return _receive(self._stdout)

    def close(self) -> None:
        self._stdin.close()
        self._stdout.close()
        self.process.wait(20)


def make_warm_runner(kind: str, *, home: Path, toolchain: Path) -> WarmRunner:
    if kind == "counted" and cgroup.find().parents is None:
        import pytest

        pytest.skip(cgroup.find().detail)
    return WarmRunner(kind, home=home, toolchain=toolchain)


def _open_descriptors() -> list[str]:
    rows = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            rows.append(str(link.readlink()).partition(":")[0])
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    return sorted(rows)


def main() -> None:
    kind, home, folder, prefix = sys.argv[1:]
    private_mounts.enter()
    toolchain = ToolchainStore(Path(folder).parent).find(Path(folder).name)
    assert toolchain is not None
    binds = tuple(
        Bind(prefix if bind.source == sys.base_prefix else bind.source, bind.destination)
        for bind in toolchain.binds
    )
    binds = tuple(
        Bind(prefix if "pyenv" in bind.source and kind == "plain" else bind.source, bind.destination)
        for bind in binds
    )
    level = Level.NAMESPACES_CGROUP if kind == "counted" else Level.NAMESPACES
    pool = WarmPool(memory_bytes=1 << 30, jobs=100, seconds=3600, forks=kind != "once")
    both = Both(Sandbox(slot=SLOT, home=Path(home), level=level), pool, replace(toolchain, binds=binds))
    # An inheritable descriptor of a secret, as a careless library might leave it open.
    planted = os.memfd_create("planted-in-the-node", 0)
    os.write(planted, SECRET.encode())
    os.set_inheritable(planted, True)
    while True:
        try:
            what, script, limits, cancel_after = _receive(sys.stdin.buffer)  # type: ignore[misc]
        except EOFError:
            break
        if what != "run":
            answers = {
                "descriptors": _open_descriptors,
                "zygotes": pool.pids,
                "pid": os.getpid,
                "prepare": both.prepare,
            }
            _send(sys.stdout.buffer, answers[what]())
            continue
        cancelled = threading.Event()
        timer = threading.Timer(cancel_after, cancelled.set) if cancel_after is not None else None
        if timer:
            timer.start()
        try:
            _send(sys.stdout.buffer, both.warm(script, limits=limits, cancelled=cancelled))
        except Exception as error:  # noqa: BLE001
            _send(sys.stdout.buffer, repr(error))
        if timer:
            timer.cancel()
    pool.close()


if __name__ == "__main__":
    main()


def arguments(*words: str) -> str:
    """A line that sets a script's arguments, since a paused interpreter can't."""
    return f"import sys; sys.argv[1:] = {json.dumps(words)}\n"
