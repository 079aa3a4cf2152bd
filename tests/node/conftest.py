"""A sandbox and an executor as a node has them, in the test's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Limits, Result
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainStore

Execute = Callable[..., Result]


@pytest.fixture(scope="session")
def node_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("node-home")


@pytest.fixture(scope="session")
def sandbox(node_home: Path) -> Sandbox:
    return Sandbox(slot=7, home=node_home)


@pytest.fixture(scope="session")
def executor(node_home: Path, toolchains: Path) -> Executor:
    return Executor(
        Identity("here", "test"),
        ToolchainStore(toolchains),
        EnvironmentRecorder(node_home / "cache", probe_seconds=120),
    )


@pytest.fixture
def execute(executor: Executor, sandbox: Sandbox, toolchain: str) -> Execute:
    def run(script: str, *, limits: dict[str, Any] | None = None, **fields: Any) -> Result:
        asked = {
            "attempt_id": "a",
            "toolchain": toolchain,
            "script": script,
            "limits": Limits(**(limits or {})),
            **fields,
        }
        return executor.execute(Attempt(**asked), sandbox, granted=[], cancelled=threading.Event())

    return run
