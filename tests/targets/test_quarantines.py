"""The offer of a node with some of its parts in quarantine."""

from __future__ import annotations

import pytest

from app.targets.quarantines import Quarantines
from worker.contract import Hello, Level, ToolchainFacts

NAMES = ("torch-2.1", "torch-2.13", "torch-2.13+einops", "torch-2.13+dev", "numpy-2")


def node() -> Hello:
    chains = [ToolchainFacts(name=name, state="ready", torch="2") for name in NAMES]
    return Hello(node="lab", instance="one", slots=1, level=Level.NAMESPACES, toolchains=chains)


@pytest.mark.parametrize(
    ("held", "left"),
    [
        (Quarantines(), NAMES),
        (Quarantines(nodes=frozenset({"other"})), NAMES),
        (Quarantines(nodes=frozenset({"lab"})), None),
        (Quarantines(toolchains=frozenset({"torch-2.1"})), NAMES[1:]),
        (Quarantines(toolchains=frozenset({"torch-2.13"})), ("torch-2.1", "numpy-2")),
        (
            Quarantines(toolchains=frozenset({"torch-2.13+einops"})),
            ("torch-2.1", "torch-2.13", "torch-2.13+dev", "numpy-2"),
        ),
        (Quarantines(scripts=frozenset({"sha256:0"})), NAMES),
    ],
)
def test_what_a_node_may_be_given(held: Quarantines, left: tuple[str, ...] | None) -> None:
    offer = held.offer(node())
    assert (None if offer is None else tuple(facts.name for facts in offer.toolchains)) == left
    assert bool(held) == (held != Quarantines())
