"""Parts of a run object about what is still to come: estimates, queue positions and stages."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Stage = Literal["queued", "waits_for_place", "running"]
# In the order in which a cell passes them.
STAGES_IN_ORDER: tuple[Stage, ...] = get_args(Stage)


class _Part(BaseModel):
    """An immutable part. All its fields are always present in the JSON."""

    model_config = ConfigDict(frozen=True)


class RangePart(_Part):
    """An estimated range. `at_most` is null if it has no upper bound."""

    at_least: float
    about: float
    at_most: float | None


Basis = Literal["measured", "script", "recent", "guess"]


class CellEstimatePart(_Part):
    """The estimate of one cell: the number of attempts, and the seconds of one.

    `basis` names what the seconds rest on: attempts of this script on this target (`measured`) or on another
    one (`script`), recent attempts of other scripts (`recent`), or nothing (`guess`).
    """

    attempts_at_least: int
    attempts_at_most: int
    seconds: RangePart
    basis: Basis


class LeftOutPart(_Part):
    """The number of cells that an exclude left out."""

    exclude: str
    cells: int


class EstimatePart(_Part):
    """The estimate of a run. `machine_seconds` are those of all attempts together.

    `starts_in` and `done_in` include the work that is already queued or running.
    """

    cells: int
    not_served: int
    attempts_at_least: int
    attempts_at_most: int
    machine_seconds: RangePart
    starts_in: RangePart | None = None
    done_in: RangePart | None = None
    basis: Basis = "guess"
    left_out: list[LeftOutPart] = Field(default_factory=list)
    # The target of the cell that may be added after the verdict, to look for a contrast.
    contrast: str | None = None


class WaitingPart(_Part):
    """The queue position of a waiting cell among the cells for the same machines.

    `starts_in` is the seconds until it would start, and null while no connected node can serve it. With
    `of_at_least` the queue is longer than `of`.
    """

    position: int
    of: int
    of_at_least: bool = False
    starts_in: RangePart | None = None
    # Why it waits longer than `starts_in`: its nodes are paused, or wait for another node of their machine.
    reason: str | None = None


class ProgressPart(_Part):
    """The stage of an open cell. `waits_for_place`: a node has it, and no place of the node is free."""

    stage: Stage
    node: str | None = None
    since: datetime
    stopped_at: datetime | None = None
