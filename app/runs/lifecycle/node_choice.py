"""Chooses the node for each waiting attempt: fair between runs, and nobody waits for a card forever."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from app.clock import now
from app.runs.lifecycle.capacity import NodeCapacity, use_of
from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.storage.queries.queue.turns import Turn, Turns, first_on_several_cards
from app.targets.target import Target, target_of
from worker.contract import AttemptKind, CardUse, Level

# Attempts that have their card from the start follow each other for so long while others wait for their turn.
TOGETHER = timedelta(seconds=20)
# A run whose attempts are alone waits so long for the first answers of runs that start beside others.
LATER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class NextOnCards:
    """An attempt that waits until attempts of the other kind have ended, and the time since when."""

    attempt_id: str
    since: datetime


def choose_previews(
    candidates: Sequence[Candidate], capacities: Mapping[str, NodeCapacity], *, required_level: Level
) -> dict[str, str]:
    """The node for each preview, by attempt id. The first previews of each run come first.

    Runs come first of which nothing has begun: the others have their first answer soon without a preview.
    """
    chosen: dict[str, str] = {}
    for candidate in sorted(candidates, key=lambda each: each.run_has_begun):
        if candidate.kind is not AttemptKind.PREVIEW:
            continue
        target = target_of(candidate)
        able = [
            name for name in capacities if capacities[name].can_preview(target, required_level=required_level)
        ]
        if able:
            name = max(able, key=lambda key: (capacities[key].previews, capacities[key].attempts, key))
            capacities[name].fill(target, candidate.kind)
            chosen[candidate.attempt_id] = name
    return chosen


def first_answers(by_id: Mapping[str, Candidate], chosen: Iterable[str]) -> set[str]:
    """The chosen attempts, by id, that come before repeats in the line for a card.

    They are the first of a run that has not begun: one attempt, and one preview. The others of the round are
    its repeats.
    """
    first: dict[tuple[str, bool], str] = {}
    for attempt_id in chosen:
        candidate = by_id[attempt_id]
        if not candidate.run_has_begun:
            first.setdefault((candidate.run_id, candidate.kind is AttemptKind.PREVIEW), attempt_id)
    return set(first.values())


def choose(
    candidates: Sequence[Candidate],
    capacities: Mapping[str, NodeCapacity],
    holds: Sequence[Hold],
    *,
    uses: Mapping[str, CardUse],
    settings: ServiceSettings,
    next_on_cards: MutableMapping[str, NextOnCards] | None = None,
) -> dict[str, str]:
    """The node for each attempt that is no preview, by attempt id. A job stays on its node.

    The order is that of `Turns`, beside the attempts on nodes (`holds`). An attempt that has waited for
    `repeat_seconds` of the settings is overdue. Runs whose attempts are alone come after the first answers of
    others for a while (`LATER`), so that the node runs empty for all of them at once.

    The first attempt of a job on several cards does not wait for its turn: it would keep cards idle as long
    if it came later. That ends once a submitted attempt on one card has waited for `one_card_seconds` of the
    settings.

    `next_on_cards` is kept from round to round: for each node an attempt that waits until attempts of the
    other kind have ended. It comes before all others, and nobody starts on its cards meanwhile. Only attempts
    that have their card from the start may follow each other before it: see `_Choice.place_together`.
    """
    repeats = [candidate for candidate in candidates if candidate.kind is not AttemptKind.PREVIEW]
    moment = now()
    overdue_since = moment - timedelta(seconds=settings.repeat_seconds)
    choice = _Choice(
        moment=moment,
        capacities=capacities,
        turns=Turns.beside(holds, overdue_since=overdue_since),
        required_level=settings.required_level,
        uses=uses,
        next_on_cards={} if next_on_cards is None else next_on_cards,
        bound={candidate.job_id: candidate.node for candidate in repeats},
    )
    choice.has_first = any(choice.is_first_at_touch(candidate) for candidate in repeats)
    choice.place_together(repeats)
    choice.place_next({candidate.attempt_id: candidate for candidate in repeats})
    patience = timedelta(seconds=settings.one_card_seconds)
    for candidate in first_on_several_cards(repeats, waits_since=moment - patience):
        choice.place(candidate)
    by_run: dict[str, deque[Candidate]] = {}
    for candidate in repeats:
        if candidate.attempt_id not in choice.tried:
            by_run.setdefault(candidate.run_id, deque()).append(candidate)
    places = [choice.place_of(waiting[0]) for waiting in by_run.values()]
    heapify(places)
    while places and any(capacity.attempts > 0 for capacity in capacities.values()):
        place = heappop(places)
        waiting = by_run[place.turn.run_id]
        today = choice.place_of(waiting[0])
        if today > place:
            # Another run of the same submitter got something meanwhile.
            heappush(places, today)
            continue
        choice.place(waiting.popleft())
        if waiting:
            heappush(places, choice.place_of(waiting[0]))
    return choice.chosen


class _Place(NamedTuple):
    """The place of a run in a round; the smallest is next. Its turn decides, but for what comes later."""

    is_no_canary: bool
    is_background: bool
    is_patient: bool
    comes_later: bool
    turn: Turn


@dataclass(slots=True, kw_only=True)
class _Choice:
    """One round. `bound` is the node of each job that has one."""

    moment: datetime
    capacities: Mapping[str, NodeCapacity]
    turns: Turns
    required_level: Level
    uses: Mapping[str, CardUse]
    next_on_cards: MutableMapping[str, NextOnCards]
    bound: dict[str, str | None]
    chosen: dict[str, str] = field(default_factory=dict)
    # The attempts whose turn is over in this round.
    tried: set[str] = field(default_factory=set)
    # Whether a first attempt at a touch waits, and whether one of them found no place in this round.
    has_first: bool = False
    has_first_left: bool = False

    def place_of(self, candidate: Candidate) -> _Place:
        turn = self.turns.turn_of(candidate)
        return _Place(*turn[:3], comes_later=self._comes_later(candidate), turn=turn)

    def _is_alone(self, candidate: Candidate) -> bool:
        """Whether it has its one card from the start, and others do not."""
        use = use_of(candidate, self.uses, first_lease=0)
        return target_of(candidate).cards_needed == 1 and use is CardUse.FROM_START

    def is_first_at_touch(self, candidate: Candidate) -> bool:
        """Whether it gives the first answer of a submitted run beside others on its card."""
        is_first = not candidate.run_has_begun and not candidate.background
        return is_first and target_of(candidate).cards_needed == 1 and not self._is_alone(candidate)

    def _comes_later(self, candidate: Candidate) -> bool:
        """Whether a run is to begin after the first answers of those that run beside others."""
        return (
            self.has_first
            and not candidate.run_has_begun
            and self.moment - candidate.queued_at < LATER
            and self._is_alone(candidate)
        )

    def place_together(self, candidates: Sequence[Candidate]) -> None:
        """Place attempts that have their card from the start where others of that kind have just run.

        Each change between the two kinds leaves the card without work for an import. The attempt that is next
        there has waited for less than `TOGETHER`, and no run waits there for its first answer at a touch.
        """
        if not self.next_on_cards or self.has_first:
            return
        on_card = [each for each in candidates if not each.background and target_of(each).cards_needed == 1]
        alone = [candidate for candidate in on_card if self._is_alone(candidate)]
        at_touch = {each.attempt_id for each in on_card}.difference(each.attempt_id for each in alone)
        nodes = [
            name
            for name, waiting in self.next_on_cards.items()
            if waiting.attempt_id in at_touch and self.moment - waiting.since < TOGETHER
        ]
        for candidate in sorted(alone, key=self.turns.turn_of):
            if self._find(candidate, target_of(candidate), among=nodes):
                self.tried.add(candidate.attempt_id)

    def place_next(self, by_id: Mapping[str, Candidate]) -> None:
        """Place the attempts that are next on the cards of a node, or let nobody else start on these."""
        for node, waiting in list(self.next_on_cards.items()):
            candidate = by_id.get(waiting.attempt_id)
            capacity = self.capacities.get(node)
            target = None if candidate is None else target_of(candidate)
            if (
                candidate is None
                or target is None
                or capacity is None
                or not capacity.serves(target, required_level=self.required_level)
            ):
                del self.next_on_cards[node]
                continue
            self.tried.add(candidate.attempt_id)
            if self._find(candidate, target):
                del self.next_on_cards[node]
            else:
                capacity.reserve(target)

    def place(self, candidate: Candidate) -> None:
        """Place an attempt, or keep the cards of the node where most are free for it.

        If attempts of the other kind are in its way, it is next there. Those of this round still start beside
        them: otherwise attempts of the two kinds would run one at a time.
        """
        if candidate.attempt_id in self.tried:
            return
        self.tried.add(candidate.attempt_id)
        target = target_of(candidate)
        if self._find(candidate, target) or target.cards_needed == 0:
            return
        self.has_first_left = self.has_first_left or self.is_first_at_touch(candidate)
        if self.has_first_left and self._comes_later(candidate):
            return
        use = use_of(candidate, self.uses, first_lease=0)
        waits_on = [
            name
            for name in self._nodes_of(candidate)
            if self.capacities[name].can_reserve(target, required_level=self.required_level, use=use)
        ]
        if not waits_on:
            return
        name = max(waits_on, key=lambda key: (self.capacities[key].free_places(target), key))
        if self.capacities[name].has_other_kind(target, use):
            self.next_on_cards.setdefault(name, NextOnCards(candidate.attempt_id, self.moment))
        if target.cards_needed > 1 or self.capacities[name].is_other_kind_older(target, use):
            self.capacities[name].reserve(target)

    def _find(self, candidate: Candidate, target: Target, *, among: Collection[str] | None = None) -> bool:
        """Place an attempt on the node of its job, else on that with most free places. False if none can.

        `among` limits the nodes.
        """
        use = use_of(candidate, self.uses, first_lease=0)
        able = [
            name
            for name in self._nodes_of(candidate)
            if (among is None or name in among)
            and self.capacities[name].can_take(target, required_level=self.required_level, use=use)
        ]
        if not able:
            return False
        name = max(able, key=lambda key: (self.capacities[key].attempts, key))
        self.capacities[name].fill(target, use=use)
        self.bound[candidate.job_id] = name
        self.chosen[candidate.attempt_id] = name
        self.turns.start(candidate)
        return True

    def _nodes_of(self, candidate: Candidate) -> list[str]:
        node = self.bound[candidate.job_id]
        return [name for name in (self.capacities if node is None else [node]) if name in self.capacities]
