"""The sender of a node's messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """The name of a node, and the id of this start of it."""

    node: str
    instance: str
