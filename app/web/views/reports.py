"""What the permanent page of a report draws: the run that stands, its claim beside what was seen, the matrix over versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.judging.judgement import CheckResult, ComparisonResult
from app.runs.lookup.history import Point
from app.runs.lookup.reports import ReportDetails, RunSummary
from app.runs.run_object.document import CheckPart, RunDocument
from app.runs.run_object.reading_notes import environment_differences
from app.states import OPEN_STATES
from app.web.views import runs as views
from app.web.views import wording
from app.web.views.environments import what_sets_apart
from app.web.views.grid import Grid, grid, since
from app.web.views.markdown_copy import run_markdown

MOST_COMPARED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A check, and the strongest of what became of it, with where and what was seen there."""

    check: CheckPart
    result: CheckResult | None
    observed: str
    exact: str
    where: str
    others: int


def standing_run(report: ReportDetails) -> RunSummary | None:
    """The run that the page is about: the one that stands, else our newest, else the newest."""
    own = [run for run in report.runs if run.contributed_by is None]
    stands = next((run for run in report.runs if run.id == report.standing.run), None)
    return stands or next(iter([*own, *report.runs]), None)


def claim_rows(run: RunDocument) -> list[ClaimRow]:
    """The claim beside what was seen."""
    order = list(CheckResult)
    rows = []
    for number, check in enumerate(run.report.claim.checks):
        found = views.findings_of(run, number)
        best = min(found, key=lambda pair: order.index(pair[1].result), default=None)
        rows.append(
            ClaimRow(
                check=check,
                result=None if best is None else best[1].result,
                observed="" if best is None else best[1].observed,
                exact="" if best is None else best[1].exact,
                where="" if best is None else best[0],
                others=0 if best is None else sum(one.result is best[1].result for _, one in found) - 1,
            )
        )
    return rows


def both_shown(rows: Sequence[ClaimRow]) -> bool:
    """Whether the claimed and the expected value were both printed, so that a reader has to say which one is meant."""
    met = {row.check.role for row in rows if row.result is CheckResult.MET}
    return {"bug", "expected"} <= met


def last_verified(points: Sequence[Point]) -> datetime | None:
    """When our own nodes last had an answer."""
    return max(
        (point.at for point in points if point.contributed_by is None and point.attempts), default=None
    )


_WITHOUT_RUN: Mapping[str, Any] = {
    **dict.fromkeys(("claim", "place", "apart", "comparisons", "traces"), ()),
    "comparisons_alike": 0,
    "both_shown": False,
    "alike": None,
    "markdown": "",
}


def report_values(
    report: ReportDetails,
    run: RunDocument | None,
    points: Sequence[Point],
    *,
    address: str,
    start: int,
    older: int = 0,
    each: bool = False,
) -> dict[str, Any]:
    """What the page draws."""
    table: Grid = grid(
        points, [script.digest for script in report.report.scripts], start=start, older=older, each=each
    )
    values: dict[str, Any] = {
        "report": report,
        "run": run,
        "grid": table,
        "each": each,
        "verified_at": last_verified(points),
        "attention": report.attention,
        "jobs": {},
    }
    if run is None:
        return {**values, **_WITHOUT_RUN}
    tried_more, claim = _tried_more(run, points), claim_rows(run)
    place = environment_differences(run)
    every = views.comparisons_of(run)
    comparisons = [
        row
        for row in every
        if row.part.result not in {ComparisonResult.IDENTICAL, ComparisonResult.EQUIVALENT}
    ]
    return {
        **values,
        "headline": wording.headline(run, tried_more=tried_more),
        "missing": wording.what_is_missing(run),
        "since": since(table),
        "jobs": {job.id: job for job in run.jobs},
        "seen_by_job": {job.id: views.what_was_seen(job) for job in run.jobs},
        "defect": wording.defect_words(run),
        "as_reported": wording.as_reported(run, [field.name for field in place]),
        "seen_in": (sum(job.matched for job in run.jobs), sum(job.of for job in run.jobs if job.matched)),
        "claim": claim,
        "both_shown": both_shown(claim),
        "place": place,
        "apart": what_sets_apart(run),
        "comparisons": comparisons[:MOST_COMPARED],
        "comparisons_alike": len(every) - len(comparisons),
        "comparisons_more": max(0, len(comparisons) - MOST_COMPARED),
        "traces": views.traces_of(run),
        "alike": views.attempts_alike(run),
        "command": views.command_of(run),
        "first_job": next(
            (job.id for job in run.jobs if views.label_of(job) in run.where),
            run.jobs[0].id if run.jobs else None,
        ),
        "markdown": run_markdown(
            run, address=address, history=table, tried_more=tried_more, said=report.overruled
        ),
        "live": run.state in OPEN_STATES,
    }


def _tried_more(run: RunDocument, points: Sequence[Point]) -> bool:
    """Whether runs of ours had targets that this one has not."""
    labels = {views.label_of(job) for job in run.jobs}
    return any(point.target.label() not in labels for point in points if point.contributed_by is None)
