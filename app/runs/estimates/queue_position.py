"""The line of waiting cells: who comes before whom, by the rule that dispatch gives out by, and when each would start. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.runs.estimates.durations import Durations
from app.runs.run_object.document import RangePart, WaitingPart
from app.storage.queries.queue.queue_position import WaitingCell
from app.targets.fleet import can_serve, usable_cards
from app.targets.target import Target, target_of
from worker.contract import Device, Hello, Level

# A node that has just become free is given work within this.
SLACK_SECONDS = 5.0
# What is supposed of cells ahead, whose plans are not read: a mixed one takes more.
ATTEMPTS_AHEAD = (1, 3, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What decides a line: the nodes that are there, what each holds, and how much of each run is at work."""

    fleet: Sequence[Hello]
    held: Mapping[str, int]
    at_work: Mapping[str, int]
    required_level: Level
    _able: dict[tuple[object, ...], frozenset[str]] = field(default_factory=dict)

    def able(self, target: Target) -> frozenset[str]:
        """The nodes that serve a target."""
        # Of the settings, only this one decides who can.
        key = (
            target.device,
            target.gpus,
            target.capability,
            target.toolchain,
            target.settings.get("cpu-isa"),
        )
        if key not in self._able:
            self._able[key] = frozenset(
                hello.node
                for hello in self.fleet
                if can_serve(hello, target, required_level=self.required_level) is None
            )
        return self._able[key]

    def places(self, nodes: frozenset[str], target: Target) -> int:
        """How many attempts on this target these nodes run at once."""
        there = [hello for hello in self.fleet if hello.node in nodes]
        if target.device is Device.CPU:
            return max(1, sum(hello.slots for hello in there))
        cards = sum(min(hello.slots, len(usable_cards(hello.gpus)) // max(1, target.gpus)) for hello in there)
        return max(1, cards)


@dataclass(slots=True)
class _Load:
    """What is ahead on one set of nodes."""

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
class Mine:
    """A waiting cell that is asked about."""

    job_id: str
    script: str
    target: Target


def line(
    run_id: str,
    mine: Sequence[Mine],
    others: Sequence[WaitingCell],
    *,
    standing: Standing,
    durations: Durations,
    unawaited: bool = False,
    longer: bool = False,
) -> dict[str, WaitingPart]:
    """Each cell's place. Nodes are given what was submitted first, of that the run with the least at work, of it the first of its plan."""
    theirs = [target_of(cell) for cell in others]
    places = [
        *zip(
            _turns([(unawaited, run_id)] * len(mine), standing),
            [(cell.script, cell.target, cell.job_id) for cell in mine],
            strict=True,
        ),
        *zip(
            _turns([(cell.unawaited, cell.run_id) for cell in others], standing),
            [("", target, None) for target in theirs],
            strict=True,
        ),
    ]
    queue = [cell for _turn, cell in sorted(places, key=lambda place: place[0])]
    loads: dict[frozenset[str], _Load] = {}
    totals: Counter[frozenset[str]] = Counter(standing.able(target) for _script, target, _job_id in queue)
    found = {}
    for script, target, job_id in queue:
        nodes = standing.able(target)
        if job_id is not None:
            ahead = [load for group, load in loads.items() if group & nodes]
            of = sum(number for group, number in totals.items() if group & nodes)
            starts_in = (
                _starts_in(nodes, target, ahead, standing, durations, longer=longer) if nodes else None
            )
            position = 1 + sum(load.cells for load in ahead)
            found[job_id] = WaitingPart(
                position=position, of=max(of, position), of_at_least=longer, starts_in=starts_in
            )
        loads.setdefault(nodes, _Load()).add(durations.of(script, target).range)
    return found


def _turns(runs: Sequence[tuple[bool, str]], standing: Standing) -> list[tuple[bool, int, str]]:
    """For each cell whether nobody waits for it, how much of its run is at work when it is given out, and its run."""
    ranks: Counter[str] = Counter()
    found = []
    for unawaited, run_id in runs:
        found.append((unawaited, standing.at_work.get(run_id, 0) + ranks[run_id], run_id))
        ranks[run_id] += 1
    return found


def _starts_in(
    nodes: frozenset[str],
    target: Target,
    ahead: Sequence[_Load],
    standing: Standing,
    durations: Durations,
    *,
    longer: bool,
) -> RangePart:
    """When the work ahead leaves a place free: the nodes are never idle while something waits that they can take."""
    places = standing.places(nodes, target)
    held = sum(standing.held.get(node, 0) for node in nodes)
    one = durations.of("", target).range
    cells = sum(load.cells for load in ahead)
    about = most = 0.0
    if cells + held >= places:
        _least, about_attempts, most_attempts = ATTEMPTS_AHEAD
        about = (sum(load.about for load in ahead) + held * one.about * about_attempts / 2) / places
        most = (
            sum(load.at_most for load in ahead) + held * (one.at_most or one.about) * most_attempts
        ) / places
    # The last that is taken ahead may be the longest, and end when this one has long begun elsewhere.
    least = (
        max(0.0, sum(load.at_least for load in ahead) / places - one.at_least)
        if cells + held >= places
        else 0.0
    )
    about = max(about, least)
    return RangePart(
        at_least=round(least, 1),
        about=round(about, 1),
        at_most=None if longer else round(max(most, about) + SLACK_SECONDS, 1),
    )
