"""Metrics of the whole service: counters and current state, read from the database and the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import UnavailableError
from app.runs.rows.nodes import NodeSummary, list_nodes_and_figures
from app.states import AttemptState, RunState
from app.storage.broker import Broker
from app.storage.queries import figures
from app.storage.tallies import Sum, read_tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The metrics at one moment.

    `tallies` are totals since the beginning. `backlog` and `nodes_ready` are None while the broker does not
    answer. `silences` are the seconds since the last sign of life of `recorder` and `beat`.
    """

    tallies: dict[tuple[str, str], Sum]
    attempts_by_state: dict[str, int]
    runs_by_state: dict[str, int]
    oldest_queued_seconds: float
    nodes_ready: int | None
    nodes: list[NodeSummary]
    backlog: int | None
    silences: dict[str, float]

    def total(self, name: str, label: str = "") -> int:
        """One counter; 0 if nothing was counted."""
        part = self.tallies.get((name, label))
        return part.number if part is not None else 0


def snapshot(session: Session, broker: Broker) -> Snapshot:
    """The current metrics."""
    moment = now()
    by_state = dict.fromkeys(get_args(AttemptState), 0) | figures.attempts_by_state(session)
    runs = dict.fromkeys(get_args(RunState), 0) | figures.runs_by_state(session)
    oldest = figures.oldest_queued(session)
    nodes = list_nodes_and_figures(session, broker)
    try:
        backlog, silences = broker.recorder_backlog(), broker.silences()
    except UnavailableError:
        backlog, silences = None, {}
    return Snapshot(
        tallies=read_tallies(session),
        attempts_by_state=by_state,
        runs_by_state=runs,
        oldest_queued_seconds=0.0 if oldest is None else max(0.0, (moment - oldest).total_seconds()),
        nodes_ready=_count_ready(nodes),
        nodes=nodes,
        backlog=backlog,
        silences=silences,
    )


def _count_ready(nodes: list[NodeSummary]) -> int | None:
    """The nodes that get new work. None if the broker does not say which ones live."""
    if any(node.state == "unknown" for node in nodes):
        return None
    return sum(node.state == "ready" and not node.quarantined for node in nodes)
