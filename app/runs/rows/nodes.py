"""Lists nodes with their state, reads the fleet, and remembers new toolchains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import UnavailableError
from app.runs.figures.cards import CardFigures, NodeCards, card_figures, read_card_history
from app.runs.rows.quarantined_parts import current_quarantines, offers
from app.settings import ServiceSettings
from app.storage.broker import Broker
from app.storage.models import NodeRow
from app.storage.queries import rerun
from app.storage.queries.queue import nodes as queries
from app.storage.queries.queue import queue
from app.targets.fleet import usable
from worker.contract import AttemptKind, Gpu, Heartbeat, Hello, Level, ToolchainFacts
from worker.contract.bounds import Text
from worker.contract.stored_message import read_stored

log = structlog.get_logger(__name__)

# Hellos that stay in memory.
MOST_HELLOS = 100
NodeState = Literal["ready", "draining", "away", "unknown"]


class PublicToolchain(ToolchainFacts):
    """A toolchain without its path and without the messages of the resolver. Anyone may see it."""

    python: Text = Field(default="", exclude=True)


class NodeSummary(BaseModel):
    """A node in a list. `state` is `unknown` while the broker does not answer."""

    model_config = ConfigDict(frozen=True)

    name: str
    state: NodeState
    slots: int
    busy: int = Field(description="slots that are in use now")
    waiting: int = Field(
        default=0, description="attempts that it has beside these: those that wait for a slot, and previews"
    )
    level: Level
    level_detail: str
    waits_for: str = Field(
        default="",
        description="what its attempts wait for: another node of its machine that uses its slots, "
        "or its owner, who paused it; empty if for neither",
    )
    cores: int
    cpu_model: str
    gpus: list[Gpu]
    toolchains: list[PublicToolchain]
    hello_at: datetime
    quarantined: bool = Field(default=False, description="quarantined by a maintainer: it gets no new work")
    card_figures: list[CardFigures] = Field(
        default=[], description="what its cards did in the last hour and day; empty without cards"
    )


def list_nodes(session: Session, broker: Broker) -> list[NodeSummary]:
    """All nodes ever seen, by name."""
    rows = queries.all_nodes(session)
    holds = queue.holds(session)
    held_by = Counter(hold.node for hold in holds)
    begun = Counter(hold.node for hold in holds if hold.has_begun and hold.kind is not AttemptKind.PREVIEW)
    quarantined_nodes = current_quarantines(session).nodes
    try:
        heartbeats: dict[str, Heartbeat] | None = broker.heartbeats(row.name for row in rows)
    except UnavailableError:
        heartbeats = None
    return [
        _summary(
            row,
            hello,
            # One that has ended on its node is held until its result is recorded.
            busy=min(begun[row.name], hello.slots),
            attempts=held_by[row.name],
            state=_state(row, heartbeats),
            quarantined=row.name in quarantined_nodes,
        )
        for row, hello in with_hellos(rows)
    ]


def list_nodes_and_figures(session: Session, broker: Broker) -> list[NodeSummary]:
    """All nodes ever seen, by name, with what their cards did in the last hour and day."""
    summaries = list_nodes(session, broker)
    if not any(summary.gpus for summary in summaries):
        return summaries
    known_since = {row.name: row.created_at for row in queries.all_nodes(session)}
    moment = now()
    figures = card_figures(
        {
            summary.name: NodeCards(
                indexes=[gpu.index for gpu in summary.gpus], known_since=known_since[summary.name]
            )
            for summary in summaries
        },
        read_card_history(session, moment=moment),
        moment=moment,
    )
    return [
        summary.model_copy(update={"card_figures": figures.get(summary.name, [])}) for summary in summaries
    ]


def with_hellos(rows: Iterable[NodeRow]) -> Iterator[tuple[NodeRow, Hello]]:
    """Each node with its last hello. A node whose stored hello can't be read is left out, and logged."""
    for row in rows:
        try:
            yield row, read_stored(Hello, row.hello)
        except ValidationError as error:
            log.warning("stored_hello_refused", node=row.name, problems=error.error_count())


def _state(row: NodeRow, heartbeats: dict[str, Heartbeat] | None) -> NodeState:
    if heartbeats is None:
        return "unknown"
    heartbeat = heartbeats.get(row.name)
    if heartbeat is None or heartbeat.instance != row.instance:
        return "away"
    return "draining" if row.draining or heartbeat.draining else "ready"


def _summary(
    row: NodeRow, hello: Hello, *, busy: int, attempts: int, state: NodeState, quarantined: bool
) -> NodeSummary:
    return NodeSummary(
        name=row.name,
        state=state,
        slots=hello.slots,
        busy=busy,
        waiting=attempts - busy,
        level=hello.level,
        level_detail=hello.level_detail,
        waits_for=hello.waits_for,
        cores=hello.cores,
        cpu_model=hello.cpu_model,
        gpus=hello.gpus,
        toolchains=[_public(facts) for facts in hello.toolchains],
        hello_at=row.hello_at,
        quarantined=quarantined,
    )


def _public(facts: ToolchainFacts) -> PublicToolchain:
    """Hides the messages of the resolver, which name the operator's folders and indexes."""
    detail = (
        {"detail": "It could not be built; on the node, `samehere toolchain list --json` says why."}
        if facts.state == "failed"
        else {}
    )
    return PublicToolchain(**{**facts.model_dump(exclude={"python"}), **detail})


def fleet(session: Session, *, settings: ServiceSettings) -> list[Hello]:
    """The nodes that were seen recently, without quarantined things. Reads only the database."""
    return offers(whole_fleet(session, settings=settings), current_quarantines(session))


def whole_fleet(session: Session, *, settings: ServiceSettings) -> list[Hello]:
    """The nodes that were seen recently, quarantined or not."""
    return readable_hellos(queries.present_hellos(session, seen_since=seen_since(settings)))


def seen_since(settings: ServiceSettings) -> datetime:
    """The time since which a node must have been seen, to be planned for."""
    return now() - timedelta(seconds=settings.node_absence_seconds)


def readable_hellos(stored: Iterable[tuple[str, str]]) -> list[Hello]:
    """The hellos of nodes by their JSON. One that can't be read is left out, and logged."""
    hellos = []
    for name, hello in stored:
        try:
            hellos.append(_hello_of(hello))
        except ValidationError as error:
            log.warning("stored_hello_refused", node=name, problems=error.error_count())
    return hellos


@lru_cache(maxsize=MOST_HELLOS)
def _hello_of(text: str) -> Hello:
    """The hello of a JSON text. A node says the same for long, and many requests plan for it."""
    return read_stored(Hello, json.loads(text))


def note_toolchains(session: Session, hello: Hello) -> None:
    """Store since when the toolchains of a node are known.

    The first time, those that nodes already had get the time of their node, so that they are not new.
    """
    since = rerun.toolchains(session)
    if not since:
        rows = queries.all_nodes(session)
        since = {name: row.created_at for row, known in with_hellos(rows) for name in _names(known)}
        rerun.store_toolchains(session, since)
    rerun.store_toolchains(session, {name: now() for name in _names(hello) if name not in since})


def _names(hello: Hello) -> list[str]:
    return [facts.name for facts in usable(hello).values() if not facts.base]
