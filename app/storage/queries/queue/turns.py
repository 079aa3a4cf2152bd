"""The turns of waiting attempts. Dispatch goes by them, and so do queue positions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from app.storage.queries.queue.queue import Candidate, Hold
from app.targets.target import target_of
from worker.contract import AttemptKind

# How long somebody waits decides nothing before the time of `repeat_seconds`.
_ANY_TIME = datetime.min.replace(tzinfo=UTC)


class Turn(NamedTuple):
    """The place of a run among all that wait; the smallest is next."""

    is_no_canary: bool
    is_background: bool
    is_patient: bool
    busy_submitter: int
    busy_run: int
    waits_since: datetime
    cell_turn: int
    run_id: str


@dataclass(slots=True, kw_only=True)
class Turns:
    """The attempts on nodes by run and submitter. One that waits since before `overdue_since` is overdue.

    A canary comes first, then submitted runs, then background runs. Among those a run of which nothing has
    begun comes before all repeats, so that its first answer does not wait for the last answer of another one.
    Then the submitter with the fewest attempts on nodes is next, then the run with the fewest, then the cell
    that has had the fewest. A run whose attempt is overdue takes its turn with those that have not begun, the
    longest wait first, so that it starts however many new runs come.
    """

    overdue_since: datetime
    _runs: Counter[str] = field(default_factory=Counter)
    _submitters: Counter[str] = field(default_factory=Counter)

    @classmethod
    def beside(cls, holds: Iterable[Hold], *, overdue_since: datetime) -> Turns:
        """The turns beside these attempts on nodes. Previews do not count."""
        turns = cls(overdue_since=overdue_since)
        for hold in holds:
            if hold.kind is not AttemptKind.PREVIEW:
                turns.start(hold)
        return turns

    def start(self, attempt: Candidate | Hold) -> None:
        """Count an attempt that a node gets."""
        self._count(attempt, 1)

    def end(self, attempt: Candidate | Hold) -> None:
        """Count an attempt that has ended no more."""
        self._count(attempt, -1)

    def _count(self, attempt: Candidate | Hold, number: int) -> None:
        self._runs[attempt.run_id] += number
        if attempt.submitter:
            self._submitters[attempt.submitter] += number

    def turn_of(self, candidate: Candidate, *, run_has_begun: bool | None = None) -> Turn:
        """The turn of a run whose next attempt is this one."""
        has_begun = candidate.run_has_begun if run_has_begun is None else run_has_begun
        is_patient = has_begun and candidate.queued_at > self.overdue_since
        return Turn(
            is_no_canary=not candidate.is_canary,
            is_background=candidate.background,
            is_patient=is_patient,
            # A caller without a token is known by the run only.
            busy_submitter=self._submitters[candidate.submitter]
            if candidate.submitter
            else self._runs[candidate.run_id],
            busy_run=self._runs[candidate.run_id],
            waits_since=_ANY_TIME if is_patient else candidate.queued_at,
            cell_turn=candidate.turn,
            run_id=candidate.run_id,
        )


def first_on_several_cards(candidates: Sequence[Candidate], *, waits_since: datetime) -> list[Candidate]:
    """The first attempt of each submitted job on several cards that has not begun.

    None if an attempt on one card waits since before `waits_since`: it is overtaken no more.
    """
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.background:
            continue
        cards = target_of(candidate).cards_needed
        if cards == 1 and candidate.queued_at < waits_since:
            return []
        if cards > 1 and candidate.node is None:
            first.setdefault(candidate.job_id, candidate)
    return list(first.values())
