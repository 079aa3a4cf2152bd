"""Rows that say the same, put together: cells of a plan, toolchains of a fleet, points of a bisection, cells that flip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.judging.judgement import Verdict
from app.runs.estimates.wording import how_long
from app.runs.maintenance.rejudge import JobFlip
from app.runs.rows.nodes import NodeSummary, PublicToolchain
from app.runs.run_object.bisection_document import PointPart
from app.runs.run_object.document import JobPart, RunDocument
from app.web.views.runs import label_of, packages_held

# Of a plan; each row may stand for many cells.
MOST_PLANNED = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Cells of a plan that take the same, or can't be served for the same reason."""

    labels: list[str]
    first: JobPart
    last: JobPart


def planned(plan: RunDocument) -> list[Planned]:
    """The cells of a plan in its order, those that take the same in one row."""
    found: dict[object, list[JobPart]] = {}
    for job in plan.jobs:
        found.setdefault(_takes(job), []).append(job)
    rows = [
        Planned(labels=[label_of(job) for job in jobs], first=jobs[0], last=jobs[-1])
        for jobs in found.values()
    ]
    # Where nothing is the same, the last row holds all that are left, by name.
    first, rest = rows[: MOST_PLANNED - 1], rows[MOST_PLANNED - 1 :]
    labels = [label for row in rest for label in row.labels]
    return [*first, *([Planned(labels=labels, first=rest[0].first, last=rest[-1].last)] if rest else [])]


def _takes(job: JobPart) -> object:
    if job.estimate is None:
        return None if job.reason is None else job.reason.detail
    return (job.estimate.attempts_at_least, job.estimate.attempts_at_most, how_long(job.estimate.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A toolchain with the nodes that have it alike."""

    chain: PublicToolchain
    nodes: list[str]


def toolchains_alike(nodes: Iterable[NodeSummary]) -> list[Offered]:
    """The toolchains of a fleet, each once for all nodes that say the same of it."""
    found: dict[tuple[str, tuple[str, ...], str, str], Offered] = {}
    for node in nodes:
        for chain in node.toolchains:
            key = (chain.name, tuple(packages_held(chain)), chain.state, chain.detail)
            found.setdefault(key, Offered(chain=chain, nodes=[])).nodes.append(node.name)
    return list(found.values())


def stretches(points: Sequence[PointPart]) -> list[list[PointPart]]:
    """The points of a series; neighbours that were never tried are one stretch."""
    made: list[list[PointPart]] = []
    for untried, together in groupby(
        points, key=lambda point: not (point.of or point.given_up or point.untold or point.reason)
    ):
        found = list(together)
        made += [found] if untried else [[point] for point in found]
    return made


def flips(jobs: Iterable[JobFlip]) -> list[tuple[tuple[Verdict | None, Verdict | None], int]]:
    """How many cells go from one verdict to another."""
    return list(Counter((job.before, job.after) for job in jobs).items())
