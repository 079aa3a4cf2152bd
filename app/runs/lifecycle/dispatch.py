"""Give queued attempts to nodes: by what each can serve, fairly between runs, cheap cells first, never more than a node can hold.

Previews are apart from all of that: a node has a place of its own for them, so they wait only for each other, and bind their job to no
node.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.runs.rows.events import emit
from app.runs.rows.quarantined_parts import held_back
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.broker import Broker
from app.storage.models import AttemptRow, JobRow, NodeRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes as node_queries
from app.storage.queries.queue import quarantines, queue
from app.storage.queries.queue.queue import Candidate, Hold
from app.targets.fleet import can_serve, usable_cards
from app.targets.quarantines import Quarantines
from app.targets.target import Target, target_of
from worker.contract import CONTRACT_VERSION, Attempt, AttemptKind, Heartbeat, Hello, Level

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Place:
    """A living node and what it has room for."""

    hello: Hello
    room: int
    gpus: int
    previews: int = 0
    _answers: dict[str, bool] = field(default_factory=dict)

    def serves(self, target: Target, *, required_level: Level) -> bool:
        """Whether the node could ever run this target."""
        label = target.label()
        if label not in self._answers:
            self._answers[label] = can_serve(self.hello, target, required_level=required_level) is None
        return self._answers[label]

    def takes(self, target: Target, *, required_level: Level) -> bool:
        """Whether the node has room for it now."""
        return (
            self.room > 0
            and target.cards_needed <= self.gpus
            and self.serves(target, required_level=required_level)
        )

    def shows(self, target: Target, *, required_level: Level) -> bool:
        """Whether the node takes a preview of it now."""
        return self.previews > 0 and self.serves(target, required_level=required_level)

    def fill(self, target: Target, kind: AttemptKind = AttemptKind.REPEAT) -> None:
        """Count one more attempt."""
        if kind is AttemptKind.PREVIEW:
            self.previews -= 1
            return
        self.room -= 1
        self.gpus -= target.cards_needed


def living(
    rows: Sequence[NodeRow], heartbeats: Mapping[str, Heartbeat], held: Quarantines
) -> dict[str, Hello]:
    """The nodes that take attempts: alive, as the instance that said hello, not draining, of our contract; without what is held back."""
    found: dict[str, Hello] = {}
    for row in rows:
        heartbeat = heartbeats.get(row.name)
        if heartbeat is None or heartbeat.instance != row.instance or heartbeat.draining or row.draining:
            continue
        hello = held.offer(Hello.model_validate(row.hello))
        if hello is not None and CONTRACT_VERSION in hello.contracts:
            found[row.name] = hello
    return found


def _places(fleet: Mapping[str, Hello], holds: Sequence[Hold]) -> dict[str, Place]:
    places = {
        name: Place(
            hello=hello,
            room=hello.slots + 1,
            gpus=len(usable_cards(hello.gpus)),
            previews=hello.previews + 1 if hello.previews > 0 else 0,
        )
        for name, hello in fleet.items()
    }
    for hold in holds:
        if hold.node in places:
            places[hold.node].fill(target_of(hold), hold.kind)
    return places


def choose_previews(
    candidates: Sequence[Candidate], places: Mapping[str, Place], *, required_level: Level
) -> dict[str, str]:
    """Which preview goes to which node: each run's first ones first."""
    chosen: dict[str, str] = {}
    for candidate in candidates:
        if candidate.kind is not AttemptKind.PREVIEW:
            continue
        target = target_of(candidate)
        able = [name for name in places if places[name].shows(target, required_level=required_level)]
        if able:
            name = max(able, key=lambda key: (places[key].previews, places[key].room, key))
            places[name].fill(target, candidate.kind)
            chosen[candidate.attempt_id] = name
    return chosen


def choose(
    candidates: Sequence[Candidate], places: Mapping[str, Place], busy: Counter[str], *, required_level: Level
) -> dict[str, str]:
    """Which repeat goes to which node: first what was submitted, of that the run with the fewest at work; a job stays on its node."""
    by_run: dict[str, deque[Candidate]] = {}
    for candidate in candidates:
        if candidate.kind is AttemptKind.REPEAT:
            by_run.setdefault(candidate.run_id, deque()).append(candidate)
    bound = {candidate.job_id: candidate.node for candidate in candidates}
    chosen: dict[str, str] = {}
    background = {run_id: waiting[0].background for run_id, waiting in by_run.items()}
    turns = [(background[run_id], busy[run_id], run_id) for run_id in by_run]
    heapify(turns)
    while turns and any(place.room > 0 for place in places.values()):
        _later, _at_work, run_id = heappop(turns)
        candidate = by_run[run_id].popleft()
        name = _home(candidate, bound[candidate.job_id], places, required_level=required_level)
        if name is not None:
            bound[candidate.job_id] = name
            chosen[candidate.attempt_id] = name
            busy[run_id] += 1
        if by_run[run_id]:
            heappush(turns, (background[run_id], busy[run_id], run_id))
    return chosen


def _home(
    candidate: Candidate, bound: str | None, places: Mapping[str, Place], *, required_level: Level
) -> str | None:
    """The node for an attempt, with the place taken: its job's, else the one with most room."""
    target = target_of(candidate)
    names = list(places) if bound is None else [bound]
    able = [
        name for name in names if name in places and places[name].takes(target, required_level=required_level)
    ]
    if not able:
        return None
    name = max(able, key=lambda key: (places[key].room, key))
    places[name].fill(target)
    return name


def dispatch(session: Session, broker: Broker, *, settings: ServiceSettings) -> int:
    """One round: how many attempts were leased. Raises UnavailableError when the broker is down: then nothing is leased."""
    heartbeats = broker.heartbeats(row.name for row in node_queries.all_nodes(session))
    if not heartbeats:
        return 0
    # Two dispatchers must not both fill the same slots: the second waits here, then sees what the first did.
    locked_nodes = node_queries.lock_nodes(session, heartbeats)
    quarantines.hold_quarantines(session)
    held = held_back(session)
    fleet = living(locked_nodes, heartbeats, held)
    holds = queue.holds(session)
    places = _places(fleet, holds)
    free = sum(max(0, place.room) + max(0, place.previews) for place in places.values())
    if not free:
        return 0
    # A job's first may be a preview that nobody takes.
    candidates = queue.candidates(session, nodes=fleet, of_a_job=free + 1, without_scripts=held.scripts)
    busy = Counter(hold.run_id for hold in holds if hold.kind is AttemptKind.REPEAT)
    chosen = {
        **choose_previews(candidates, places, required_level=settings.required_level),
        **choose(candidates, places, busy, required_level=settings.required_level),
    }
    if not chosen:
        return 0
    locked = queue.lock_queued(session, chosen)
    texts = queries.scripts(session, {job.script_digest for _run, job, _attempt in locked.values()})
    leased = 0
    for attempt_id, node in chosen.items():
        if attempt_id not in locked:
            continue
        run, job, attempt = locked[attempt_id]
        elsewhere = attempt.kind is AttemptKind.REPEAT and job.node not in {None, node}
        if run.state not in OPEN_STATES or job.state not in OPEN_STATES or elsewhere:
            continue
        _lease(
            session, run, job, attempt, hello=fleet[node], text=texts[job.script_digest], settings=settings
        )
        leased += 1
    log.info("dispatched", leased=leased)
    return leased


def _lease(
    session: Session,
    run: RunRow,
    job: JobRow,
    attempt: AttemptRow,
    *,
    hello: Hello,
    text: str,
    settings: ServiceSettings,
) -> None:
    moment = now()
    until = moment + settings.lease
    attempt.state = "leased"
    attempt.lease_no += 1
    attempt.node = hello.node
    attempt.instance = hello.instance
    attempt.leased_at = moment
    attempt.lease_until = until
    limits = settings.limits
    if attempt.kind is AttemptKind.PREVIEW:
        limits = limits.model_copy(
            update={"wall_seconds": min(limits.wall_seconds, settings.preview_seconds)}
        )
    else:
        job.node = hello.node
    job.state = "running"
    run.state = "running"
    target = target_of(job)
    message = Attempt(
        attempt_id=attempt.id,
        lease_no=attempt.lease_no,
        kind=attempt.kind,
        start=attempt.start,
        script=text,
        toolchain=target.toolchain,
        device=target.device,
        gpus=target.cards_needed,
        settings=target.settings,
        limits=limits,
        required_level=settings.required_level,
    )
    outbox(session).send_attempt(hello.node, message, expires=until)
    emit(session, run, "attempt.leased", job=job.id, attempt=attempt.id)
