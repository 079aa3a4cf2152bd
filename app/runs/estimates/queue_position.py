"""Computes the queue positions of waiting cells and when they would start, by the rules of dispatch. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.runs.estimates.durations import Durations
from app.runs.run_object.document import RangePart, WaitingPart
from app.storage.queries.queue.queue_position import WaitingCell
from app.targets.fleet import can_serve, cards_of_kind, usable_cards
from app.targets.target import Target, target_of
from worker.contract import Device, Hello, Level
from worker.contract.names import plain_waits_for

# A node that becomes free gets work within this time.
SLACK_SECONDS = 5.0
# Attempts of each cell ahead: at least, about, at most. Their plans are not read. A cell with mixed results
# takes more.
ATTEMPTS_AHEAD = (1, 3, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLoad:
    """The nodes, how many attempts each holds, and how many attempts of each run are held."""

    fleet: Sequence[Hello]
    held_by_node: Mapping[str, int]
    held_by_run: Mapping[str, int]
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
    """The work ahead on one set of nodes, in seconds."""

    cells: int = 0
    at_least: float = 0.0
    about: float = 0.0
    at_most: float = 0.0

    def add(self, seconds: RangePart) -> None:
        least, about, most = ATTEMPTS_AHEAD
        self.cells += 1
        self.at_least += least * seconds.at_least
        self.about += about * seconds.about
        self.at_most += most * (seconds.at_most or seconds.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCell:
    """A waiting cell whose position is asked for."""

    job_id: str
    script: str
    target: Target


@dataclass(frozen=True, slots=True)
class _QueueEntry:
    """A cell in the queue; `job_id` is None for a cell of another run.

    `turn` sorts the queue as dispatch does.
    """

    turn: tuple[bool, int, str]
    script: str
    target: Target
    job_id: str | None


def positions(
    run_id: str,
    own: Sequence[OwnCell],
    others: Sequence[WaitingCell],
    *,
    load: FleetLoad,
    durations: Durations,
    background: bool = False,
    is_cut: bool = False,
) -> dict[str, WaitingPart]:
    """The queue position of each own cell, by job id.

    Dispatch takes submitted runs before background runs, then the run with the fewest held attempts, then the
    cells in the order of the plan. `is_cut` says that `others` is not the whole queue.
    """
    loads: dict[frozenset[str], _Load] = {}
    queue = _queue(run_id, own, others, load=load, background=background)
    totals: Counter[frozenset[str]] = Counter(load.nodes_for(cell.target) for cell in queue)
    parts = {}
    for cell in queue:
        nodes = load.nodes_for(cell.target)
        if cell.job_id is not None:
            ahead = [each for group, each in loads.items() if group & nodes]
            of = sum(number for group, number in totals.items() if group & nodes)
            starts_in = (
                _starts_in(nodes, cell.target, ahead, load, durations, is_cut=is_cut) if nodes else None
            )
            position = 1 + sum(each.cells for each in ahead)
            parts[cell.job_id] = WaitingPart(
                position=position,
                of=max(of, position),
                of_at_least=is_cut,
                starts_in=starts_in,
                reason=_reason(nodes, load),
            )
        loads.setdefault(nodes, _Load()).add(durations.of(cell.script, cell.target).range)
    return parts


def _reason(nodes: frozenset[str], load: FleetLoad) -> str | None:
    """Why these nodes start nothing: each is paused or waits for another one. None if one does not."""
    hellos = [hello for hello in load.fleet if hello.node in nodes]
    if not hellos or not all(hello.waits_for for hello in hellos):
        return None
    return f"{hellos[0].node}: {plain_waits_for(hellos[0].waits_for)}"


def _queue(
    run_id: str,
    own: Sequence[OwnCell],
    others: Sequence[WaitingCell],
    *,
    load: FleetLoad,
    background: bool,
) -> list[_QueueEntry]:
    """All waiting cells in the order of dispatch."""
    own_turns = _turns([(background, run_id)] * len(own), load)
    other_turns = _turns([(cell.background, cell.run_id) for cell in others], load)
    queue = [
        _QueueEntry(turn, cell.script, cell.target, cell.job_id)
        for turn, cell in zip(own_turns, own, strict=True)
    ]
    queue += [
        _QueueEntry(turn, "", target_of(cell), None) for turn, cell in zip(other_turns, others, strict=True)
    ]
    return sorted(queue, key=lambda cell: cell.turn)


def _turns(runs: Sequence[tuple[bool, str]], load: FleetLoad) -> list[tuple[bool, int, str]]:
    """The sort key of each cell: background, held attempts of its run when it is dispatched, and the run.

    `runs` gives for each cell, in the order of the plan, whether its run is a background run, and the run's
    id.
    """
    ranks: Counter[str] = Counter()
    turns = []
    for background, run_id in runs:
        turns.append((background, load.held_by_run.get(run_id, 0) + ranks[run_id], run_id))
        ranks[run_id] += 1
    return turns


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
    held_attempts = sum(load.held_by_node.get(node, 0) for node in nodes)
    one = durations.of("", target).range
    cells = sum(each.cells for each in ahead)
    least = about = most = 0.0
    if cells + held_attempts >= places:
        _least, about_attempts, most_attempts = ATTEMPTS_AHEAD
        about = (sum(each.about for each in ahead) + held_attempts * one.about * about_attempts / 2) / places
        most = (
            sum(each.at_most for each in ahead) + held_attempts * (one.at_most or one.about) * most_attempts
        ) / places
        # The longest cell ahead may be the last one, and still run when this cell has started elsewhere.
        least = max(0.0, sum(each.at_least for each in ahead) / places - one.at_least)
    about = max(about, least)
    return RangePart(
        at_least=round(least, 1),
        about=round(about, 1),
        at_most=None if is_cut else round(max(most, about) + SLACK_SECONDS, 1),
    )
