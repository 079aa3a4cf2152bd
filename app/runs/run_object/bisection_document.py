"""The JSON of a bisection, as the command prints it and REST answers it (schema 1)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from app.runs.run_object.removal_part import RemovalPart
from app.targets.versions.bisection import Kind
from worker.contract import Reason


class AskPart(BaseModel):
    code: str
    text: str


class BisectionTargetPart(BaseModel):
    """The target of a bisection, without the value of its axis."""

    device: str
    gpus: int = 0
    toolchain: str
    settings: dict[str, str] = Field(default_factory=dict)


class PointPart(BaseModel):
    """One value of the axis.

    `seen` of `of` conclusive attempts showed the claim; `untold` counts inconclusive trials.

    `reason` says why attempts were inconclusive, or what they showed instead. `earlier` of the attempts are
    of earlier runs: no node serves the point now.
    """

    value: str
    target: BisectionTargetPart
    seen: int = 0
    of: int = 0
    untold: int = 0
    earlier: int = 0
    given_up: bool = False
    reason: Reason | None = None


class ConfoundedPart(BaseModel):
    """Differences of the two neighbours beyond the axis. `command` runs the cell that would separate them."""

    differing: list[str]
    command: str | None = None


class BisectionPart(BaseModel):
    """A bisection in the answer about its report: the answer so far, without its points."""

    id: str
    axis: str
    state: Literal["queued", "running", "finished", "cancelled"]
    kind: Kind | None = None
    last_good: str | None = None
    first_bad: str | None = None
    last_bad: str | None = None
    first_good: str | None = None
    exact: bool = False
    probability: float | None = None
    summary: str = ""
    attempts: int = 0
    created_at: datetime
    finished_at: datetime | None = None


class BisectionDocument(BaseModel):
    """A bisection and its answer so far.

    A bug that appeared has `last_good` and `first_bad`; one that was fixed has `last_bad` and `first_good`.
    Before the end they are the nearest points that were measured, there are none until both sides were, and
    `probability` is null. `exact` is true if no inconclusive point lies between these neighbours. `one_axis`
    is null if their environments can't be compared.
    """

    schema_: Literal[1] = Field(default=1, alias="schema", serialization_alias="schema")
    id: str
    axis: str
    state: Literal["queued", "running", "finished", "cancelled"]
    kind: Kind | None = None
    last_good: str | None = None
    first_bad: str | None = None
    last_bad: str | None = None
    first_good: str | None = None
    exact: bool = False
    probability: float | None = None
    error: float
    rate: float | None = None
    one_axis: bool | None = None
    confounded: ConfoundedPart | None = None
    # The removal in the first bad version, with the warning of the last good one, if that is why.
    removal: RemovalPart | None = None
    summary: str = ""
    ask: list[AskPart] = Field(default_factory=list)
    attempts: int = 0
    points: list[PointPart] = Field(default_factory=list)
    # On a service only. The run has all attempts.
    report: str | None = None
    run: str | None = None
    asked_by: str | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None

    model_config = {"populate_by_name": True}
