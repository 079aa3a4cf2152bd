"""Slots to run jobs in: root that drops to a slot's uid with a cgroup or with polling, and a plain user."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_jobs import Jobs
from sandbox_runner import AS_ROOT, Runner, make_runner

KINDS = ["counted", "polled", *(["plain"] if AS_ROOT else [])]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.sandbox)


@pytest.fixture(scope="session")
def sandbox_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="samehere-sandbox-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", params=KINDS)
def runner(request: pytest.FixtureRequest, sandbox_home: Path) -> Iterator[Runner]:
    made = make_runner(request.param, sandbox_home)
    yield made
    made.close()


@pytest.fixture
def jobs(runner: Runner) -> Jobs:
    return Jobs(runner)
