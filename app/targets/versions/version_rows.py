"""What a line is made of: cells that wait, and how long attempts took before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCell:
    """A job none of whose attempts was given to a node yet."""

    run_id: str
    job_id: str
    target: dict[str, Any]
    # Nobody waits for its run: it comes after all that was submitted.
    unawaited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How many seconds an attempt took on its node, from its start to its result."""

    script: str
    target: dict[str, Any]
    seconds: float
