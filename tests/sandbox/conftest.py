"""Slots to run jobs in: by root with a uid for each slot, with a cgroup or polling, and by a plain user."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandbox_jobs import Jobs
from sandbox_runner import AS_ROOT, Runner, make_runner

KINDS = ["counted", "polled", *(["plain"] if AS_ROOT else [])]
# The two without namespaces: with the slot's own uid, and with the node's uid.
LANDLOCK_KINDS = ["landlock", "landlock-plain"] if AS_ROOT else ["landlock-plain"]


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


@pytest.fixture(scope="session")
def runners(sandbox_home: Path) -> Iterator[Callable[[str], Runner]]:
    """A slot of each kind, created at its first use."""
    slots: dict[str, Runner] = {}

    def get(kind: str) -> Runner:
        if kind not in slots:
            slots[kind] = make_runner(kind, sandbox_home)
        return slots[kind]

    yield get
    for each in slots.values():
        each.close()


@pytest.fixture(params=KINDS)
def runner(request: pytest.FixtureRequest, runners: Callable[[str], Runner]) -> Runner:
    return runners(request.param)


@pytest.fixture(params=[*KINDS, *LANDLOCK_KINDS])
def walled(request: pytest.FixtureRequest, runners: Callable[[str], Runner]) -> Jobs:
    """Jobs of each backend with isolation."""
    return Jobs(runners(request.param))


@pytest.fixture(params=LANDLOCK_KINDS)
def landlocked(request: pytest.FixtureRequest, runners: Callable[[str], Runner]) -> Jobs:
    return Jobs(runners(request.param))


@pytest.fixture
def jobs(runner: Runner) -> Jobs:
    return Jobs(runner)
