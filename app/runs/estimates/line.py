"""The order in which waiting attempts will start, by playing dispatch with what is known now. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.storage.queries.queue.turns import Turn, Turns, first_on_several_cards
from app.targets.target import target_of
from worker.contract import AttemptKind

# After so many seconds of the play, who waits too long is looked for again.
_LOOK_SECONDS = 10.0


class Line:
    """The attempts that wait, and those on nodes, which end in the order in which they began.

    Nodes hold `places` attempts at a time, and each attempt takes `seconds`. Nobody comes later, and no node
    is preferred.
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
        self._has_several_cards = any(target_of(candidate).cards_needed > 1 for candidate in waiting)
        # The turn of each run that has something left.
        self._next: dict[str, Turn] = {}
        self._look_at_all()

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
            self._look_at_all()
        else:
            self._look([ended])

    def _round(self) -> Iterator[Candidate]:
        """One round of dispatch."""
        for candidate in self._first_on_several_cards():
            if len(self._held) >= self._places:
                return
            self._start(candidate)
            yield candidate
        while self._next and len(self._held) < self._places:
            candidate = self._runs[min(self._next.values()).run_id][0]
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

    def _look_at_all(self) -> None:
        for run_id in self._runs:
            self._note(run_id)

    def _look(self, changed: Sequence[Candidate | Hold]) -> None:
        """Note the turns of the runs that these attempts count for."""
        runs = {attempt.run_id for attempt in changed}
        for attempt in changed:
            runs |= self._runs_of.get(attempt.submitter or "", set())
        for run_id in runs & self._runs.keys():
            self._note(run_id)

    def _note(self, run_id: str) -> None:
        candidate = self._runs[run_id][0]
        self._next[run_id] = self._turns.turn_of(candidate, run_has_begun=run_id in self._begun)
