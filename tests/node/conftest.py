"""A sandbox and an executor in the test's own thread, and a node as a process on a broker."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from broker_service import NODE, Service, StartNode
from card_pool import MakePool, Pool, device_nodes
from emulated_cards import EmulatedCards
from running_service import share_environments

from worker.attempt import sandbox_job
from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Limits, Result
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainStore

Execute = Callable[..., Result]


@pytest.fixture(scope="session")
def node_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("node-home")
    share_environments(home)
    return home


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


@pytest.fixture
def service(broker_url: str) -> Iterator[Service]:
    service = Service(broker_url)
    yield service
    service.close()


@pytest.fixture
def start_node(tmp_path: Path, toolchains: Path, broker_url: str) -> Iterator[StartNode]:
    started: list[subprocess.Popen[bytes]] = []
    share_environments(tmp_path)

    def start(**variables: str) -> subprocess.Popen[bytes]:
        base = {
            "SAMEHERE_HOME": str(tmp_path),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_BROKER_URL": broker_url,
            "SAMEHERE_HEARTBEAT_SECONDS": "1",
            # A paused interpreter costs a start of torch. Tests that need one ask for it.
            "SAMEHERE_WARM": "false",
        }
        command = [sys.executable, "-P", "-m", "worker", "node", "--name", NODE, "--slots", "1"]
        with (tmp_path / "node.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**os.environ, **base, **variables},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def make_pool(
    tmp_path: Path, toolchains: Path, toolchain: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakePool]:
    monkeypatch.setattr(sandbox_job, "device_nodes", device_nodes)
    tmp_path.chmod(0o755)
    pools = []

    def make(
        *,
        cards: EmulatedCards | None = None,
        places: int = 3,
        wait: float = 20.0,
        sharing: bool = False,
        previews: bool = False,
    ) -> Pool:
        pool = Pool(
            tmp_path,
            toolchains,
            toolchain,
            cards=cards or EmulatedCards(tmp_path, "9.0"),
            places=places,
            wait=wait,
            sharing=sharing,
            previews=previews,
        )
        pools.append(pool)
        return pools[-1]

    yield make
    for each in pools:
        each.pool.drain()
        assert each.pool.join(20)
