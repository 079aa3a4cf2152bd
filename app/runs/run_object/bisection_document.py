"""A bisection as the command prints it and the service gives it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from app.targets.versions.bisection import Kind
from worker.contract import Reason


class AskPart(BaseModel):
    code: str
    text: str


class TargetPart(BaseModel):
    device: str
    gpus: int = 0
    toolchain: str
    settings: dict[str, str] = Field(default_factory=dict)


class PointPart(BaseModel):
    """One value of the axis: `seen` of `of` attempts that told showed it; `reason` says why others did not, or what was there instead."""

    value: str
    target: TargetPart
    seen: int = 0
    of: int = 0
    untold: int = 0
    given_up: bool = False
    reason: Reason | None = None


class ConfoundedPart(BaseModel):
    """The environments of the two neighbours differ in more than the axis; `command` makes the cell that would settle it."""

    differing: list[str]
    command: str | None = None


class BisectionDocument(BaseModel):
    """`kind` and the four neighbours: of one that appeared `last_good` and `first_bad`, of one that was fixed `last_bad` and `first_good`.

    `exact`: nothing lies between the neighbours that was not told. `one_axis`: null where two environments could not be compared.
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
    summary: str = ""
    ask: list[AskPart] = Field(default_factory=list)
    attempts: int = 0
    points: list[PointPart] = Field(default_factory=list)
    # On a service only: the run holds every attempt.
    report: str | None = None
    run: str | None = None
    asked_by: str | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None

    model_config = {"populate_by_name": True}
