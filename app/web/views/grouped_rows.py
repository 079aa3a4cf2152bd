"""Groups equal rows: cells of a plan, toolchains of nodes, points of a bisection, changed verdicts.

It also has the words for the work of the cards of a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from app.clock import now
from app.judging.judgement import Verdict
from app.runs.estimates.wording import duration, how_long
from app.runs.figures.cards import WINDOWS, CardFigures
from app.runs.maintenance.rejudge import JobFlip
from app.runs.rows.nodes import NodeSummary, PublicToolchain
from app.runs.run_object.bisection_document import PointPart
from app.runs.run_object.document import JobPart, RunDocument
from app.web.views.runs import label_of, package_list

# The rows of a plan. Each row may stand for many cells.
MOST_PLAN_ROWS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """Cells of a plan with the same estimate, or that no node can run for the same reason."""

    labels: list[str]
    first: JobPart
    last: JobPart


def plan_rows(plan: RunDocument) -> list[PlanRow]:
    """The cells of a plan in its order. Cells with the same estimate are one row."""
    groups: dict[object, list[JobPart]] = {}
    for job in plan.jobs:
        groups.setdefault(_estimate_key(job), []).append(job)
    rows = [
        PlanRow(labels=[label_of(job) for job in jobs], first=jobs[0], last=jobs[-1])
        for jobs in groups.values()
    ]
    # If there are too many rows, the last one names all cells that are left.
    first, rest = rows[: MOST_PLAN_ROWS - 1], rows[MOST_PLAN_ROWS - 1 :]
    if not rest:
        return first
    labels = [label for row in rest for label in row.labels]
    return [*first, PlanRow(labels=labels, first=rest[0].first, last=rest[-1].last)]


def _estimate_key(job: JobPart) -> object:
    if job.estimate is None:
        return None if job.reason is None else job.reason.detail
    return (job.estimate.attempts_at_least, job.estimate.attempts_at_most, how_long(job.estimate.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainRow:
    """A toolchain with the nodes that have exactly this one."""

    chain: PublicToolchain
    nodes: list[str]


def toolchain_rows(nodes: Iterable[NodeSummary]) -> list[ToolchainRow]:
    """The toolchains of a fleet. Nodes whose toolchain has the same name, packages and state share a row."""
    rows: dict[tuple[str, tuple[str, ...], str, str], ToolchainRow] = {}
    for node in nodes:
        for chain in node.toolchains:
            key = (chain.name, tuple(package_list(chain)), chain.state, chain.detail)
            rows.setdefault(key, ToolchainRow(chain=chain, nodes=[])).nodes.append(node.name)
    return list(rows.values())


def stretches(points: Sequence[PointPart]) -> list[list[PointPart]]:
    """The points of a series. Neighbouring points that were never tried are one stretch."""
    groups: list[list[PointPart]] = []
    for untried, together in groupby(
        points, key=lambda point: not (point.of or point.given_up or point.untold or point.reason)
    ):
        neighbours = list(together)
        groups += [neighbours] if untried else [[point] for point in neighbours]
    return groups


def flip_counts(jobs: Iterable[JobFlip]) -> list[tuple[tuple[Verdict | None, Verdict | None], int]]:
    """Pairs of an old and a new verdict, with the number of cells that change from one to the other."""
    return list(Counter((job.before, job.after) for job in jobs).items())


def card_figures_words(figures: CardFigures, *, moment: datetime | None = None) -> str:
    """The work of the cards of a node in a window, as a sentence. A moment of None is now."""
    is_whole = (moment or now()) - figures.since > 0.99 * WINDOWS[figures.window]
    when = f"Last {figures.window}" if is_whole else f"Since {figures.since:%-d %b, %H:%M} UTC"
    if not figures.attempts:
        return f"{when}: no attempt had a card."
    parts = [f"{figures.attempts_per_minute_and_card:.3g} attempts a minute and card"]
    if figures.first_answer_seconds is not None:
        parts.append(
            f"the first answer after {duration(figures.first_answer_seconds)} "
            f"(median of {figures.first_answers})"
        )
    if figures.card_seconds_per_verdict is not None:
        parts.append(f"{figures.card_seconds_per_verdict:.3g} s of a card for each verdict")
    shares = ", ".join(
        f"card {card.index} {100 * card.taken_share:.0f} % of the time" for card in figures.cards
    )
    parts.append(f"attempts had {shares}")
    return f"{when}: {'; '.join(parts)}."
