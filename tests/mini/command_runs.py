"""Two ways to run the command line: as a process, and in this process over a node that many runs share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from running_command import run_here

from app.runs.local import run as local_run
from app.runs.local.node_stream import NodeStream
from worker.contract import Hello, Level

ROOT = Path(__file__).parents[2]
# An attempt in a mini report lasts seconds; the rest is the start of the node and its probe.
COMMAND_SECONDS = 240

# Takes the words after `samehere`.
Command = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


def run_process(
    words: Sequence[str], *, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does: a new process, which starts a node of its own."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", *words],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


class SharedNode(NodeStream):
    """A node process that goes on when a run ends."""

    def __init__(self) -> None:
        super().__init__()
        self._hello = super().hello()

    def hello(self) -> Hello:
        return self._hello

    def stop(self) -> None:
        """The end of a run."""

    def close(self) -> None:
        super().stop()


@contextmanager
def one_node(environment: Mapping[str, str]) -> Iterator[Command]:
    """Runs the command line in this process, over one node process for all runs.

    All else is as in `run_process`. It spares each run two starts of Python with all imports.
    """
    with mock.patch.dict(os.environ, environment, clear=True):
        node = SharedNode()

    @contextmanager
    def opened(level: Level | None) -> Iterator[NodeStream]:
        assert level is None
        yield node

    def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        with mock.patch.object(local_run, "open_node", opened):
            return run_here(*words, environment=environment)

    try:
        yield run
    finally:
        node.close()
