"""The machines that execute: what they said of themselves, and whether they live."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from app.storage.broker import Broker
from worker.contract import Gpu, Hello, Level, ToolchainFacts

NodeState = Literal["ready", "draining", "away", "unknown"]


class NodeSummary(BaseModel):
    """A node in a list. `state` is `unknown` while the broker can't be asked."""

    model_config = ConfigDict(frozen=True)

    name: str
    state: NodeState
    slots: int
    busy: int
    level: Level
    level_detail: str
    cores: int
    cpu_model: str
    gpus: list[Gpu]
    toolchains: list[ToolchainFacts]
    hello_at: datetime


def list_nodes(session: Session, broker: Broker) -> list[NodeSummary]:
    """All nodes ever seen, by name."""
    raise NotImplementedError


def fleet(session: Session, *, absence_seconds: float) -> list[Hello]:
    """What the nodes offer that were heard of lately; asks the database only."""
    raise NotImplementedError
