"""Toolchains of Python 3.8 and 3.9, which old releases of numpy and Pillow need, and of what is too old."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_wheels import make_wheel

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Limits, Outcome, Result, Start
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainError, ToolchainStore
from worker.toolchains.adopt import adopt
from worker.toolchains.build import add
from worker.toolchains.locking.pip_command import OLD_PIP
from worker.toolchains.venv import Interpreter, find_interpreter
from worker.warm.audit import Audit
from worker.warm.pool import WarmPool
from worker.warm.starts import WarmStarts

pytestmark = pytest.mark.sandbox
OLD = ("3.8", "3.9")
# A warm start imports torch. A real one for these versions is 750 MB.
TORCH = {
    "torch/version.py": "__version__ = '1.13.0'\n",
    "torch/_C.py": "",
    "torch/__init__.py": (
        "try:\n    import numpy\nexcept ImportError:\n    pass\nfrom . import _C\n"
        "class Tensor:\n    pass\nclass default_generator:\n    seed = staticmethod(lambda: 1)\n"
        "def get_num_threads():\n    return 1\n"
    ),
}
# The last release of numpy for Python 3.8.
NUMPY = "1.24.4"


@dataclass(frozen=True)
class Old:
    """A node with a toolchain of an old Python."""

    python: str
    executor: Executor
    sandbox: Sandbox

    def run(self, script: str, *, start: Start, seconds: float = 60) -> Result:
        attempt = Attempt(
            attempt_id="a", toolchain="old", script=script, start=start, limits=Limits(wall_seconds=seconds)
        )
        result = self.executor.execute(attempt, self.sandbox, granted=[], cancelled=threading.Event())
        assert (result.start, result.start_reason) == (start, None), (result.reason, result.start_reason)
        return result


def interpreter(version: str) -> Interpreter:
    try:
        return find_interpreter(version)
    except ToolchainError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=OLD)
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Old]:
    interpreter(request.param)
    private_mounts.enter()
    home = tmp_path_factory.mktemp("old")
    home.chmod(0o755)
    store = ToolchainStore(home / "toolchains")
    wheel = make_wheel(home / "wheels", "torch", "1.13.0", files=TORCH)
    packages = [f"numpy=={NUMPY}"] if request.param == "3.8" else []
    add(store, "old", requirements=[str(wheel), *packages], python=request.param)
    pool = WarmPool(memory_bytes=1 << 30, jobs=100, seconds=3600.0)
    executor = Executor(
        Identity("here", "test"),
        store,
        EnvironmentRecorder(home / "cache", probe_seconds=120),
        warm=WarmStarts(pool, Audit(home / "audit", share=0.0)),
    )
    yield Old(request.param, executor, Sandbox(slot=5, home=home))
    pool.close()


@pytest.fixture(params=[Start.COLD, Start.WARM])
def start(request: pytest.FixtureRequest) -> Start:
    chosen: Start = request.param
    return chosen


def test_a_script_that_prints(old: Old, start: Start) -> None:
    result = old.run("import sys, torch\nprint(sys.version_info[:2])\nx = 2.5\n", start=start)
    assert (result.outcome, result.observation.exit_status) == (Outcome.COMPLETED, 0)
    major, minor = old.python.split(".")
    assert result.observation.stdout == f"({major}, {minor})\n"
    assert [(value.name, value.shape) for value in result.observation.values] == [("x", [])]
    assert str(result.environment["python.version"]).startswith(f"{old.python}.")
    assert (result.observation.flags or {})["threads"] == 1


def test_a_script_that_raises(old: Old, start: Start) -> None:
    result = old.run("import torch\nraise ValueError('boom')\n", start=start)
    assert (result.outcome, result.observation.exit_status) == (Outcome.RAISED, 1)
    assert result.observation.exception is not None
    assert (result.observation.exception.type, result.observation.exception.message) == ("ValueError", "boom")


def test_a_script_that_hangs(old: Old, start: Start) -> None:
    result = old.run("import time, torch\nwhile True:\n    time.sleep(1)\n", start=start, seconds=1.5)
    assert result.outcome is Outcome.TIMED_OUT
    assert "script.py" in result.observation.stacks
    assert "line 3" in result.observation.stacks


def test_a_script_that_is_killed(old: Old, start: Start) -> None:
    result = old.run("import os, torch\nos.kill(os.getpid(), 9)\n", start=start)
    assert (result.outcome, result.observation.signal) == (Outcome.CRASHED, "SIGKILL")


def test_an_array_of_an_old_numpy(old: Old, start: Start) -> None:
    if old.python != "3.8":
        pytest.skip("one old numpy is enough")
    result = old.run("import numpy, torch\nx = numpy.arange(3.0)\nprint(numpy.__version__)\n", start=start)
    assert result.observation.stdout == f"{NUMPY}\n"
    (value,) = result.observation.values
    assert (value.name, value.dtype, value.shape, value.data != "") == ("x", "float64", [3], True)


@pytest.mark.parametrize("version", OLD)
def test_an_adopted_environment(version: str, store: ToolchainStore) -> None:
    found = interpreter(version)
    adopt(store, "adopted", python=found.executable)
    facts = store.find("adopted")
    assert facts is not None
    assert facts.facts.detail == f"Python {found.release}, adopted"


def pretend(folder: Path, body: str) -> Path:
    """A program in the place of an interpreter."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ('echo \'["/usr/bin/python3.7", "/usr", [3, 7, 16], "cpython", "linux-x86_64"]\'', "3.7.16"),
        (
            '[ "$1" = --version ] || { echo "Unknown option: -I" >&2; exit 2; }; echo Python 2.7.18 >&2',
            "2.7.18",
        ),
    ],
)
def test_what_is_too_old_is_refused(body: str, version: str, store: ToolchainStore, tmp_path: Path) -> None:
    python = pretend(tmp_path, body)
    with pytest.raises(
        ToolchainError, match=rf"is Python {version}\. A toolchain needs Python 3\.8 or newer"
    ):
        adopt(store, "old", python=python)
    with pytest.raises(
        ToolchainError, match=rf"is Python {version}\. A toolchain needs Python 3\.8 or newer"
    ):
        add(store, "old", requirements=["numpy"], python=str(python))
    with pytest.raises(ToolchainError, match=rf"Python {version} is too old"):
        add(store, "old", requirements=["numpy"], python=version)


def test_the_older_pip_can_not_be_fetched(
    store: ToolchainStore, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "tiny")
    # Whatever our own Python is, our pip does not support it.
    monkeypatch.setattr("worker.toolchains.locking.pip_command._own_pip_supports", lambda _base: False)
    with pytest.raises(ToolchainError, match=f"chosen by pip {OLD_PIP}.* can't be fetched"):
        add(store, "tiny", requirements=["tiny"], python=sys.executable)
    # A wheel of that name with other content is not run.
    make_wheel(wheels, "pip", OLD_PIP, files={"pip/__pip-runner__.py": "raise SystemExit('it ran')\n"})
    with pytest.raises(ToolchainError, match=r"(?is)can't be fetched.*hash"):
        add(store, "tiny", requirements=["tiny"], python=sys.executable)
    assert not (store.root / ".pip" / OLD_PIP).exists()
