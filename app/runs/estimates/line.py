"""The order in which waiting attempts will start, by playing dispatch with what is known now. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.storage.queries.queue.turns import Turn, Turns, first_on_several_cards
from worker.contract import AttemptKind

# After so many seconds of the play, who waits too long is looked for again.
_LOOK_SECONDS = 10.0


class Line:
    """The attempts that wait, and those on nodes, which end in the order in which they began.

    Nodes hold `places` attempts at a time, and each attempt takes `seconds`. Nobody comes later, and no node
    is preferred. `has_several_cards` says whether an attempt needs more than one card.
    """

    def __init__(
        self,
        waiting: Sequence[Candidate],
        holds: Iterable[Hold],
        *,
        places: int,
        seconds: float,
        moment: datetime,
        settings: ServiceSettings,
        has_several_cards: bool,
    ) -> None:
        on_nodes = [hold for hold in holds if hold.kind is not AttemptKind.PREVIEW]
        self._held: deque[Candidate | Hold] = deque(on_nodes)
        self._places, self._moment, self._settings = max(1, places), moment, settings
        self._step = timedelta(seconds=seconds / self._places)
        self._turns = Turns.beside(on_nodes, overdue_since=self._overdue_since)
        self._begun = {candidate.run_id for candidate in waiting if candidate.run_has_begun}
        self._runs: dict[str, deque[Candidate]] = {}
        self._runs_of: defaultdict[str, set[str]] = defaultdict(set)
        for candidate in waiting:
            self._runs.setdefault(candidate.run_id, deque()).append(candidate)
            if candidate.submitter:
                self._runs_of[candidate.submitter].add(candidate.run_id)
        self._has_several_cards = has_several_cards
        # The turn of each run that has something left, and all of them in order, with some from before.
        self._next: dict[str, Turn] = {run_id: self._turn(run_id) for run_id in self._runs}
        self._order = list(self._next.values())
        heapify(self._order)

    def starts(self) -> Iterator[Candidate]:
        """The attempts in the order of their starts."""
        while self._runs:
            if len(self._held) >= self._places:
                self._end_one()
            started = list(self._round())
            yield from started
            self._begun.update(candidate.run_id for candidate in started)
            self._look(started)

    @property
    def _overdue_since(self) -> datetime:
        return self._moment - timedelta(seconds=self._settings.repeat_seconds)

    def _end_one(self) -> None:
        """The oldest attempt on a node ends."""
        before = self._moment
        ended = self._held.popleft()
        self._moment += self._step
        self._turns.end(ended)
        self._turns.overdue_since = self._overdue_since
        if before.timestamp() // _LOOK_SECONDS != self._moment.timestamp() // _LOOK_SECONDS:
            self._look_at_begun()
        self._look([ended])

    def _round(self) -> Iterator[Candidate]:
        """One round of dispatch."""
        for candidate in self._first_on_several_cards():
            if len(self._held) >= self._places:
                return
            self._start(candidate)
            yield candidate
        while self._next and len(self._held) < self._places:
            turn = heappop(self._order)
            # Others have been replaced since.
            if self._next.get(turn.run_id) is turn:
                candidate = self._runs[turn.run_id][0]
                self._start(candidate)
                yield candidate

    def _first_on_several_cards(self) -> list[Candidate]:
        if not self._has_several_cards:
            return []
        left = [candidate for waiting in self._runs.values() for candidate in waiting]
        patience = timedelta(seconds=self._settings.one_card_seconds)
        first = first_on_several_cards(left, waits_since=self._moment - patience)
        # The jobs of those that have started have their node.
        return [candidate for candidate in first if candidate.turn == 0]

    def _start(self, candidate: Candidate) -> None:
        waiting = self._runs[candidate.run_id]
        waiting.remove(candidate)
        if not waiting:
            del self._runs[candidate.run_id]
            self._next.pop(candidate.run_id, None)
        self._held.append(candidate)
        self._turns.start(candidate)
        self._look([candidate])

    def _look_at_begun(self) -> None:
        """Note the turns that change with time alone: those of runs of which something has begun."""
        for run_id in self._begun:
            self._note(run_id)

    def _look(self, changed: Sequence[Candidate | Hold]) -> None:
        """Note the turns of the runs that these attempts count for."""
        for attempt in changed:
            for run_id in self._runs_of.get(attempt.submitter or "", ()):
                self._note(run_id)
            self._note(attempt.run_id)

    def _note(self, run_id: str) -> None:
        if run_id not in self._runs:
            return
        turn = self._turn(run_id)
        if turn != self._next[run_id]:
            self._next[run_id] = turn
            heappush(self._order, turn)

    def _turn(self, run_id: str) -> Turn:
        return self._turns.turn_of(self._runs[run_id][0], run_has_begun=run_id in self._begun)
