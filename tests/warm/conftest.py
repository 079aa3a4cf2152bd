"""A slot with paused interpreters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from warm_jobs import Both, FreeCards

from worker.cards.nvml import device_nodes, find_gpus
from worker.sandbox import Gate, Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore
from worker.warm.pool import WarmPool

SLOT = 6


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.path.name != "test_decide.py":
            item.add_marker(pytest.mark.sandbox)


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory, toolchains: Path, toolchain: str) -> Iterator[Both]:
    private_mounts.enter()
    ready_toolchain = ToolchainStore(toolchains).find(toolchain)
    assert ready_toolchain is not None
    pool = WarmPool(memory_bytes=1 << 30, jobs=1000, seconds=3600)
    yield Both(Sandbox(slot=SLOT, home=tmp_path_factory.mktemp("home")), pool, ready_toolchain)
    pool.close()


@pytest.fixture(scope="session", params=["from the start", "at the touch"])
def on_a_card(both: Both, request: pytest.FixtureRequest) -> Both:
    """The same slot with the machine's first card, whose nodes jobs open themselves or get through a gate."""
    cards = find_gpus()
    if not cards:
        pytest.skip("no NVIDIA card here")
    if not both.toolchain.facts.packages.get("torch") or "+cpu" in both.toolchain.facts.packages["torch"]:
        pytest.skip("the toolchain's torch is built without CUDA")
    nodes = device_nodes(cards[:1])
    if request.param == "from the start":
        return replace(both, devices=nodes)
    return replace(both, devices=nodes, make_gate=lambda: Gate(nodes, FreeCards(), most_seconds=60))
