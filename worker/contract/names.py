"""The names that both sides use: of tasks, queues and broker keys, of what a target may ask for, of toolchains with more packages."""

from __future__ import annotations

from collections.abc import Iterable

# Celery: names of tasks and queues, and the broker keys, in one place for both sides.
TASK_ATTEMPT = "worker.attempt"
TASK_FROM_NODE = "app.from_node"
QUEUE_RECORDER = "recorder"


def node_queue(node: str) -> str:
    """The Celery queue that only this node consumes."""
    return f"node.{node}"


def heartbeat_key(node: str) -> str:
    """The broker key a node refreshes; gone when the node is."""
    return f"samehere:heartbeat:{node}"


def cancel_key(node: str) -> str:
    """The broker set of attempt ids that a node should stop."""
    return f"samehere:cancel:{node}"


# The settings a target may ask for, and their values; None means a whole number. What each does is in `worker.contract.target_settings`.
SETTINGS: dict[str, tuple[str, ...] | None] = {
    "deterministic": ("on",),
    "fill": ("nan",),
    "threads": None,
    "cpu-isa": ("avx2", "sse4.2", "compatible"),
    "tf32": ("on", "off"),
    "seed": None,
    # Keeps what every operation of torch was given and gave, and holds it against float64: for causes, not for values.
    "trace": ("on",),
}


def add_layers(toolchain: str, packages: Iterable[str]) -> str:
    """The name of a toolchain with more packages, `torch-2.13-cpu+einops`; a node that allows them builds it when it is asked for."""
    return "+".join([toolchain, *sorted(set(packages))])


def split_layers(name: str, toolchains: Iterable[str]) -> tuple[str, list[str]] | None:
    """Which of the toolchains is meant, and the packages that are added to it. A `+` in the name of one of them counts as part of it."""
    bases = [base for base in toolchains if name.startswith(f"{base}+")]
    if not bases:
        return None
    base = max(bases, key=len)
    packages = name[len(base) + 1 :].split("+")
    return (base, packages) if name == add_layers(base, packages) else None
