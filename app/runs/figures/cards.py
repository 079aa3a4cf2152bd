"""The work of the cards of a node in the last hour and in the last day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from app.storage.queries import figures as queries
from app.storage.queries.figures import CardJobRow, CardUseRow

WINDOWS: dict[Literal["hour", "day"], timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
# More attempts and runs are not read. The windows are then shorter, and say so.
MOST_USES = 20_000
MOST_RUNS = 1_000


class CardShare(BaseModel):
    """One card in a window."""

    model_config = ConfigDict(frozen=True)

    index: int
    attempts: int
    taken_share: float


class CardFigures(BaseModel):
    """The cards of a node in a window of time."""

    model_config = ConfigDict(frozen=True)

    window: Literal["hour", "day"]
    since: datetime
    attempts: int
    attempts_per_minute_and_card: float
    first_answers: int
    first_answer_seconds: float | None
    verdicts: int
    card_seconds_per_verdict: float | None
    cards: list[CardShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCards:
    """The cards of a node, and since when the node is known."""

    indexes: Sequence[int]
    known_since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CardHistory:
    """Attempts that had cards, and cells that want one: all of both since `complete_since`."""

    uses: Sequence[CardUseRow]
    jobs: Sequence[CardJobRow]
    complete_since: datetime


def read_card_history(session: Session, *, moment: datetime) -> CardHistory:
    """The last day, or less if there is more than MOST_USES attempts or MOST_RUNS runs."""
    since = moment - WINDOWS["day"]
    uses = queries.latest_card_uses(session, since=since, most=MOST_USES)
    jobs, cut_at = queries.latest_card_jobs(session, since=since, most=MOST_RUNS)
    starts = [since]
    if len(uses) == MOST_USES:
        starts.append(uses[-1].ended_at)
    if cut_at is not None:
        starts.append(cut_at)
    return CardHistory(uses=uses, jobs=jobs, complete_since=max(starts))


def card_figures(
    nodes: Mapping[str, NodeCards], history: CardHistory, *, moment: datetime
) -> dict[str, list[CardFigures]]:
    """The figures of each node for each window. A node without cards has none. Pure.

    A window begins when the node was seen first, if that is later.
    """
    uses: defaultdict[str, list[CardUseRow]] = defaultdict(list)
    for use in history.uses:
        uses[use.node].append(use)
    jobs: defaultdict[str, list[CardJobRow]] = defaultdict(list)
    for job in _with_first_answers_once(history.jobs):
        if job.node is not None:
            jobs[job.node].append(job)
    return {
        name: [
            _figures(
                window,
                max(moment - length, history.complete_since, node.known_since),
                moment,
                node.indexes,
                CardHistory(uses=uses[name], jobs=jobs[name], complete_since=history.complete_since),
            )
            for window, length in WINDOWS.items()
        ]
        for name, node in nodes.items()
        if node.indexes
    }


def _with_first_answers_once(jobs: Sequence[CardJobRow]) -> list[CardJobRow]:
    """The cells, of which only the first one of each run keeps the time of its first answer."""
    first: dict[str, CardJobRow] = {}
    for job in jobs:
        if job.first_at is None or not job.is_submitted:
            continue
        other = first.get(job.run_id)
        if other is None or other.first_at is None or job.first_at < other.first_at:
            first[job.run_id] = job
    firsts = {id(job) for job in first.values()}
    return [job if id(job) in firsts else replace(job, first_at=None) for job in jobs]


def _figures(
    window: Literal["hour", "day"],
    since: datetime,
    moment: datetime,
    indexes: Sequence[int],
    history: CardHistory,
) -> CardFigures:
    within = [use for use in history.uses if use.ended_at >= since]
    submitted = [job for job in history.jobs if job.submitted_at >= since]
    seconds = max(1.0, (moment - since).total_seconds())
    waits = [
        (job.first_at - job.submitted_at).total_seconds() for job in submitted if job.first_at is not None
    ]
    verdicts = [job for job in submitted if job.has_verdict]
    return CardFigures(
        window=window,
        since=since,
        attempts=len(within),
        attempts_per_minute_and_card=round(60 * len(within) / seconds / len(indexes), 2),
        first_answers=len(waits),
        first_answer_seconds=round(median(waits), 1) if waits else None,
        verdicts=len(verdicts),
        card_seconds_per_verdict=round(sum(job.card_seconds for job in verdicts) / len(verdicts), 2)
        if verdicts
        else None,
        cards=[_share(index, within, since, moment, seconds) for index in indexes],
    )


def _share(
    index: int, uses: Iterable[CardUseRow], since: datetime, moment: datetime, seconds: float
) -> CardShare:
    spans = []
    for use in uses:
        if any(_index_of(card) == index for card in use.cards):
            began = use.ended_at - timedelta(seconds=use.seconds / len(use.cards))
            spans.append((max(since, began), min(moment, use.ended_at)))
    return CardShare(index=index, attempts=len(spans), taken_share=round(_seconds_of(spans) / seconds, 4))


def _index_of(card: str) -> int:
    """The number of a card in `AttemptRow.cards`: the middle of `node/number/check`."""
    return int(card.rsplit("/", 2)[1])


def _seconds_of(spans: Iterable[tuple[datetime, datetime]]) -> float:
    """The time that is in at least one of the spans. Attempts that share a card count once."""
    total, covered_until = 0.0, None
    for began, ended in sorted(spans):
        start = began if covered_until is None else max(began, covered_until)
        if ended > start:
            total += (ended - start).total_seconds()
            covered_until = ended
    return total
