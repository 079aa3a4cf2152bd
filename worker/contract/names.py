"""Names that both sides use: Celery tasks, queues, broker keys, settings, layered toolchains."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Names that a node or a bundle brings stand in our own sentences. With these characters nobody writes
# markup, and no sentence with spaces and a full stop.
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TOOLCHAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
# A card's name is the driver's, such as `NVIDIA A100-SXM4-80GB` or `Intel(R) Arc(TM) A770`. Drivers name some
# cards with nothing. 96 is the driver's own limit.
CARD_NAME = re.compile(r"[A-Za-z0-9 ()\[\]/+._-]{0,96}")
CAPABILITY = re.compile(r"(?:[0-9]{1,4}\.[0-9]{1,4})?")
_NOT_IN_A_CARD_NAME = re.compile(r"[^A-Za-z0-9 ()\[\]/+._-]")
_SLOTS_IN_USE = "its slots are in use by another node of this machine"
_SLOT_USER = rf"(?:node {NODE_NAME.pattern}, process [0-9]{{1,10}}|another process)"
_WAITS_FOR = re.compile(rf"{_SLOTS_IN_USE}(?:: {_SLOT_USER}(?:, {_SLOT_USER}){{0,99}})?")
TASK_ATTEMPT = "worker.attempt"
TASK_FROM_NODE = "app.from_node"
QUEUE_RECORDER = "recorder"
# The code of the reason of an attempt that waited for its card in vain. It has its card from the start the
# next time.
CARD_NOT_FREE = "card_not_free"


def node_queue(node: str) -> str:
    """The Celery queue that only this node consumes."""
    return f"node.{node}"


def key_user(node: str) -> str:
    """The broker's user that a node key belongs to."""
    return f"node.{node}"


def results_queue(node: str) -> str:
    """The list to which only this node can send, if it has a node key. Others send to QUEUE_RECORDER."""
    return f"{QUEUE_RECORDER}.{node}"


def sender_of(queue: str) -> str | None:
    """The node whose list this is; None for the list that nodes without a key share."""
    prefix, dot, node = queue.partition(".")
    return node if prefix == QUEUE_RECORDER and dot else None


def is_capability(kind: str | None, capability: str) -> bool:
    """Whether a card's capability, `9.0`, is of this kind: `sm90`, `sm90a` or `9.0`. None: any is."""
    return kind is None or _digits(kind) == _digits(capability)


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def card_name(text: str) -> str:
    """The name of a card as messages take it, whatever a driver answers."""
    return _NOT_IN_A_CARD_NAME.sub("_", text)[:96]


# The sentence of a node that takes no work.
NODE_PAUSED = "its owner paused it, or lends it at other hours"


def slots_in_use(users: Iterable[str]) -> str:
    """The sentence of a node whose slots others use. `users` are texts of the locks on its slots."""
    return f"{_SLOTS_IN_USE}: {', '.join(users)}"


def plain_waits_for(text: str) -> str:
    """The text of a node if it is one of ours, else the beginning of that of `slots_in_use`."""
    return text if text == NODE_PAUSED or _WAITS_FOR.fullmatch(text) else _SLOTS_IN_USE


def heartbeat_key(node: str) -> str:
    """The broker key that a node refreshes. It expires soon after the node ends."""
    return f"samehere:heartbeat:{node}"


def cancel_key(node: str) -> str:
    """The broker key of the set of attempt ids that a node must stop."""
    return f"samehere:cancel:{node}"


# The settings of a target and their allowed values; None means a whole number. The module
# `worker.contract.target_settings` applies them.
SETTINGS: dict[str, tuple[str, ...] | None] = {
    "deterministic": ("on",),
    "fill": ("nan",),
    "threads": None,
    "cpu-isa": ("avx2", "sse4.2", "compatible"),
    "tf32": ("on", "off"),
    "seed": None,
    # Fixes one source of variation, to find what makes repeats differ; `generators` are the first four.
    "fix": ("python", "numpy-legacy", "numpy-generator", "torch", "generators", "hash", "clock", "files"),
    # Records inputs and outputs of every torch operation and compares them with float64, to find causes.
    "trace": ("on",),
    # Stops `torch.compile` after one of its layers, whatever backend the script names.
    "compile": ("off", "eager", "aot_eager", "decomposed", "inductor"),
}


def add_layers(toolchain: str, packages: Iterable[str]) -> str:
    """The name of a toolchain with added packages, such as `torch-2.13-cpu+einops`.

    A node that allows the packages builds it when an attempt needs it.
    """
    return "+".join([toolchain, *sorted(set(packages))])


def split_layers(name: str, toolchains: Iterable[str]) -> tuple[str, list[str]] | None:
    """The toolchain and the added packages that a name stands for; None if it names no layered toolchain.

    A `+` inside the name of one of `toolchains` is part of that name.
    """
    bases = [base for base in toolchains if name.startswith(f"{base}+")]
    if not bases:
        return None
    base = max(bases, key=len)
    packages = name[len(base) + 1 :].split("+")
    return (base, packages) if name == add_layers(base, packages) else None
