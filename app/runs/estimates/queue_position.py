"""Computes the queue positions of waiting cells and when they would start, by the rules of dispatch. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.runs.estimates.durations import Durations
from app.runs.estimates.line import Line
from app.runs.run_object.parts.estimates import RangePart, WaitingPart
from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.targets.fleet import can_serve, cards_of_kind, usable_cards
from app.targets.target import Target, target_of
from worker.contract import AttemptKind, Device, Hello, Level
from worker.contract.names import plain_waits_for

# A node that becomes free gets work within this time.
SLACK_SECONDS = 5.0
# Attempts of each cell ahead that are counted, if so many wait. Many cells are decided by so many.
ATTEMPTS_AHEAD = 3
# A cell with mixed results takes more attempts than wait, and other runs may come.
MORE_AHEAD = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLoad:
    """The nodes, and the attempts on them."""

    fleet: Sequence[Hello]
    holds: Sequence[Hold]
    required_level: Level
    _nodes_by_target: dict[tuple[object, ...], frozenset[str]] = field(default_factory=dict)

    def nodes_for(self, target: Target) -> frozenset[str]:
        """The names of the nodes that can serve a target."""
        # `cpu-isa` is the only setting that decides which nodes can serve a target.
        key = (
            target.device,
            target.gpus,
            target.capability,
            target.toolchain,
            target.settings.get("cpu-isa"),
        )
        if key not in self._nodes_by_target:
            self._nodes_by_target[key] = frozenset(
                hello.node
                for hello in self.fleet
                if can_serve(hello, target, required_level=self.required_level) is None
            )
        return self._nodes_by_target[key]

    @property
    def held_at_once(self) -> int:
        """The number of attempts that dispatch gives to all nodes together."""
        return sum(hello.slots + 1 for hello in self.fleet)

    def held_by(self, nodes: frozenset[str]) -> int:
        """The number of attempts on these nodes, without previews."""
        return sum(hold.node in nodes and hold.kind is not AttemptKind.PREVIEW for hold in self.holds)

    def places(self, nodes: frozenset[str], target: Target) -> int:
        """The number of attempts on this target that these nodes run at once; at least 1."""
        hellos = [hello for hello in self.fleet if hello.node in nodes]
        if target.device is Device.CPU:
            return max(1, sum(hello.slots for hello in hellos))
        cards_per_attempt = max(1, target.gpus)
        return max(
            1,
            sum(
                min(hello.slots, _cards(hello, target) * _places(hello, target) // cards_per_attempt)
                for hello in hellos
            ),
        )


def _cards(hello: Hello, target: Target) -> int:
    """The number of usable cards of the target's kind."""
    return len(usable_cards(cards_of_kind(hello, target)))


def _places(hello: Hello, target: Target) -> int:
    """The number of attempts on this target that may be under way for each card."""
    return hello.card_places if target.cards_needed == 1 else 1


@dataclass(slots=True)
class _Load:
    """The work ahead on one set of nodes: waiting cells, and the seconds of attempts."""

    cells: int = 0
    at_least: float = 0.0
    about: float = 0.0
    at_most: float = 0.0
    attempts: int = 0

    def add(self, candidate: Candidate, seconds: RangePart) -> None:
        if _opens_cell(candidate):
            self.cells += 1
            # A cell may end with its first attempt.
            self.at_least += seconds.at_least
        self.attempts += 1
        self.about += seconds.about
        self.at_most += MORE_AHEAD * (seconds.at_most or seconds.about)


def _opens_cell(candidate: Candidate) -> bool:
    """Whether nothing of its cell is before it."""
    return candidate.turn == 0


def positions(
    own: Collection[str],
    waiting: Sequence[Candidate],
    *,
    load: FleetLoad,
    durations: Durations,
    moment: datetime,
    settings: ServiceSettings,
    scripts: Mapping[str, str] | None = None,
    is_cut: bool = False,
) -> dict[str, WaitingPart]:
    """The queue position of each cell of `own`, by job id, among the cells of which nothing has begun.

    `waiting` are attempts in the order of the plan of each run. Dispatch is played with them, so that the
    order is that of its turns. `scripts` are the digests of scripts whose durations are known, by job id.
    `is_cut` says that `waiting` is not the whole queue.
    """
    loads: dict[frozenset[str], _Load] = {}
    targets = _targets(waiting)
    nodes_of = {job_id: load.nodes_for(target) for job_id, target in targets.items()}
    totals = Counter(nodes_of[candidate.job_id] for candidate in waiting if _opens_cell(candidate))
    missing = set(own) & targets.keys()
    one = durations.of("", next(iter(targets.values()))).range.about if targets else 0.0
    line = Line(
        waiting,
        load.holds,
        places=load.held_at_once,
        seconds=one,
        moment=moment,
        settings=settings,
        has_several_cards=any(target.cards_needed > 1 for target in targets.values()),
    )
    parts: dict[str, WaitingPart] = {}
    ranges: dict[tuple[str, int], RangePart] = {}
    for candidate in line.starts():
        job_id, target = candidate.job_id, targets[candidate.job_id]
        nodes = nodes_of[job_id]
        if job_id in missing:
            missing.discard(job_id)
            ahead = [each for group, each in loads.items() if group & nodes]
            of = sum(number for group, number in totals.items() if group & nodes)
            starts_in = _starts_in(nodes, target, ahead, load, durations, is_cut=is_cut) if nodes else None
            position = 1 + sum(each.cells for each in ahead)
            parts[job_id] = WaitingPart(
                position=position,
                of=max(of, position),
                of_at_least=is_cut,
                starts_in=starts_in,
                reason=_reason(nodes, load),
            )
            if not missing:
                break
        script = (scripts or {}).get(job_id, "")
        seconds = ranges.get((script, id(target)))
        if seconds is None:
            seconds = ranges[script, id(target)] = durations.of(script, target).range
        loads.setdefault(nodes, _Load()).add(candidate, seconds)
    return parts


def _targets(waiting: Sequence[Candidate]) -> dict[str, Target]:
    """The target of each job. The data of equal targets is often one object, which is read once."""
    read: dict[int, Target] = {}
    targets: dict[str, Target] = {}
    for candidate in waiting:
        place = id(candidate.target)
        if place not in read:
            read[place] = target_of(candidate)
        targets[candidate.job_id] = read[place]
    return targets


def _reason(nodes: frozenset[str], load: FleetLoad) -> str | None:
    """Why these nodes start nothing: each is paused or waits for another one. None if one does not."""
    hellos = [hello for hello in load.fleet if hello.node in nodes]
    if not hellos or not all(hello.waits_for for hello in hellos):
        return None
    return f"{hellos[0].node}: {plain_waits_for(hellos[0].waits_for)}"


def _starts_in(
    nodes: frozenset[str],
    target: Target,
    ahead: Sequence[_Load],
    load: FleetLoad,
    durations: Durations,
    *,
    is_cut: bool,
) -> RangePart:
    """When the work ahead leaves a place free, in seconds.

    Nodes are never idle while a cell waits that they serve.
    """
    places = load.places(nodes, target)
    on_nodes = load.held_by(nodes)
    one = durations.of("", target).range
    least = about = most = 0.0
    if sum(each.attempts for each in ahead) + on_nodes >= places:
        # Those that run are half done, on average.
        running = min(on_nodes, places)
        about = (sum(each.about for each in ahead) + (on_nodes - running / 2) * one.about) / places
        most = (sum(each.at_most for each in ahead) + on_nodes * (one.at_most or one.about)) / places
        # The longest attempt ahead may be the last one, and still run when this cell has started elsewhere.
        least = max(0.0, sum(each.at_least for each in ahead) / places - one.at_least)
    about = max(about, least)
    return RangePart(
        at_least=round(least, 1),
        about=round(about, 1),
        at_most=None if is_cut else round(max(most, about) + SLACK_SECONDS, 1),
    )
