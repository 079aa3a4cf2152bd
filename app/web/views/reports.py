"""The values for the page of a report: its current run, its claim, and the matrix over versions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.judging.judgement import CheckResult, ComparisonResult, Verdict
from app.runs.lookup.history import Point
from app.runs.lookup.reports import ReportDetails
from app.runs.run_object.answer.check_findings import checks_of_job, findings_of, told_apart
from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.answer.new_warnings import NewWarning
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.bisection_document import BisectionPart
from app.runs.run_object.claim_part import CheckPart, ClaimPart
from app.runs.run_object.document import RunDocument
from app.states import OPEN_STATES
from app.visible_text import can_hide
from app.web.parts import Lazy, lazily
from app.web.views import runs as views
from app.web.views import wording
from app.web.views.copies.bisection_words import latest_bisections
from app.web.views.environments import distinguishing_fields
from app.web.views.exhibits import marked_posts
from app.web.views.grid.build import build_grid
from app.web.views.grid.since_sentence import since_sentence
from app.web.views.grid.table import Grid
from app.web.views.markdown_copy import run_markdown
from app.web.views.pictures import report_pictures
from app.web.views.reporters_place import ReportersPlace, reporters_place
from worker.contract import Environment

MOST_COMPARED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A check of the claim with its strongest result: the target, and the observation there.

    `others` counts the other targets with the same result. `number` is there if another check has the same
    words.
    """

    check: CheckPart
    number: str
    result: CheckResult | None
    observed: str
    exact: str
    where: str
    others: int
    # Whether the bug was seen on all of them.
    bug_seen: bool


_NOT_PLAIN_ASCII = re.compile(r"[^\n\x20-\x7e]")


def claim_json(claim: ClaimPart) -> str:
    """A claim as data, in lines."""
    text = json.dumps(claim.model_dump(mode="json"), ensure_ascii=False, indent=1)
    # Characters that can't be seen are written as JSON's escapes. They mean the same when they come back.
    return _NOT_PLAIN_ASCII.sub(_as_escape, text)


def _as_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if can_hide(match[0]) else match[0]


def claim_rows(run: RunDocument) -> list[ClaimRow]:
    """Each check of the claim with its strongest result."""
    order = list(CheckResult)
    bug_seen = views.bug_labels(run)
    rows = []
    for number, check in enumerate(run.report.claim.checks):
        findings = findings_of(run, number)
        best = min(findings, key=lambda pair: order.index(pair[1].result), default=None)
        rows.append(
            ClaimRow(
                check=check,
                number=told_apart(run.report.claim.checks, check),
                result=None if best is None else best[1].result,
                observed="" if best is None else best[1].observed,
                exact="" if best is None else best[1].exact,
                where="" if best is None else views.label_of(best[0]),
                bug_seen=best is not None
                and all(
                    views.label_of(job) in bug_seen for job, one in findings if one.result is best[1].result
                ),
                others=0 if best is None else sum(one.result is best[1].result for _, one in findings) - 1,
            )
        )
    return rows


def both_shown(run: RunDocument) -> bool:
    """Whether the same attempts show the claimed and the expected value: a reader must decide which counts.

    One target may well show the one, and another target or attempt the other.
    """
    checks = run.report.claim.checks
    return any(
        {"bug", "expected"}
        <= {check.role for check, finding in checks_of_job(checks, job) if finding.result is CheckResult.MET}
        for job in run.jobs
        if job.of and job.matched == job.of
    )


def last_verified(points: Sequence[Point]) -> datetime | None:
    """When our own nodes last gave an answer."""
    return max(
        (point.at for point in points if point.contributed_by is None and point.attempts), default=None
    )


_WITHOUT_RUN: Mapping[str, Any] = {
    **dict.fromkeys(("claim", "place", "distinguishing", "traces", "removals"), ()),
    "tested": "",
    "comparisons": None,
    "both_shown": False,
    "can_run": True,
    "attempts": None,
    "markdown": "",
}


def report_values(
    report: ReportDetails,
    run: RunDocument | None,
    points: Sequence[Point],
    *,
    answer: Lazy[AnswerPart],
    new_warnings: Lazy[list[NewWarning]],
    environments: Lazy[dict[str, Environment]],
    address: str,
    start: int,
    older: int = 0,
    each: bool = False,
) -> dict[str, Any]:
    """The values for the template of the page, most of them lazy.

    `start` and `older` choose the part of the matrix, and `each` shows every row by itself.
    """
    scripts = [script.digest for script in report.report.scripts]
    grid = lazily(build_grid, points, scripts, start=start, older=older, each=each)
    values: dict[str, Any] = {
        "report": report,
        "run": run,
        "grid": grid,
        "each": each,
        "verified_at": lazily(last_verified, points),
        "attention": report.attention,
        "pictures": lazily(report_pictures, points, scripts),
        "posts": lazily(marked_posts, report.text, report.report.exhibits, form=report.form),
        "claim_json": lazily(claim_json, report.report.claim),
        "jobs": {},
        "new_warnings": new_warnings,
    }
    of_run = (
        _WITHOUT_RUN
        if run is None
        else _of_run(
            report,
            run,
            grid,
            answer,
            new_warnings,
            address=address,
            reporters=Lazy(lambda: reporters_place(run, points, environments())),
            elsewhere=lazily(_seen_elsewhere, run, points),
        )
    )
    return {**values, **of_run}


def _of_run(
    report: ReportDetails,
    run: RunDocument,
    grid: Lazy[Grid],
    answer: Lazy[AnswerPart],
    new_warnings: Lazy[list[NewWarning]],
    *,
    address: str,
    reporters: Lazy[ReportersPlace],
    elsewhere: Lazy[bool],
) -> dict[str, Any]:
    """The values of the current run of a report."""
    claim = lazily(claim_rows, run)
    return {
        "comparisons": lazily(comparison_list, run),
        "answer": answer,
        "since": Lazy(lambda: since_sentence(grid())),
        **_of_jobs(run),
        **_why(report, run),
        "as_reported": Lazy(lambda: reporters().facts(run)),
        "scope_sentence": Lazy(lambda: reporters().sentence(run)),
        "scope_run": Lazy(lambda: reporters().other_run(run)),
        "next_words": Lazy(lambda: _next_words(report, run, answer())),
        "can_run": bool(run.jobs) or not run.ask,
        "contrast": Lazy(
            lambda: contrast_sentence(
                run, answer(), is_free_elsewhere=elsewhere(), is_known=_has_change(report.bisections)
            )
        ),
        "claim": claim,
        "both_shown": Lazy(lambda: both_shown(run)),
        "place": Lazy(lambda: reporters().fields),
        "distinguishing": lazily(distinguishing_fields, run),
        "traces": lazily(views.traces_of, run),
        "attempts": lazily(views.attempt_table, run),
        "command": lazily(views.command_of, run),
        "first_job": _first_job(run),
        "markdown": lazily(
            run_markdown,
            run,
            address=address,
            grid=grid,
            answer=answer,
            overruling=report.overruled,
            disposition=report.disposition or report.confirmed,
            removals=report.removals,
            bisections=latest_bisections(report.bisections),
            new_warnings=new_warnings,
            reporters=reporters,
            elsewhere=elsewhere,
        ),
        "live": run.state in OPEN_STATES,
    }


def _seen_elsewhere(run: RunDocument, points: Sequence[Point]) -> bool:
    """Whether another run of ours has a place without it, so that "every place" would not be true."""
    return any(
        point.verdict in {Verdict.NOT_REPRODUCED, Verdict.DIFFERENT}
        and point.contributed_by is None
        and point.run != run.id
        for point in points
    )


def _next_words(report: ReportDetails, run: RunDocument, answer: AnswerPart) -> str:
    is_decided = report.closed_at is not None or report.confirmed is not None or report.overruled is not None
    return wording.next_words(run, answer.standing_owner, is_decided=is_decided)


def _has_change(bisections: Sequence[BisectionPart]) -> bool:
    """Whether the newest bisection over something found a change, so it depends on that."""
    return any(one.first_bad or one.first_good for one in latest_bisections(bisections))


def _of_jobs(run: RunDocument) -> dict[str, Any]:
    return {
        "jobs": {job.id: job for job in run.jobs},
        "seen_by_job": Lazy(lambda: {job.id: views.what_was_seen(job) for job in run.jobs}),
    }


def _why(report: ReportDetails, run: RunDocument) -> dict[str, Any]:
    """The next step, the test of the cause, and the removals in newer versions."""
    return {
        "missing": lazily(wording.what_is_missing, run),
        "tested": lazily(wording.cause_test_words, run),
        "bisected": lazily(latest_bisections, report.bisections),
        "removals": report.removals or ([] if run.removal is None else [run.removal]),
    }


def _first_job(run: RunDocument) -> str | None:
    """The first job that shows the claim, else the first one; None without jobs."""
    seen = (job.id for job in run.jobs if views.label_of(job) in run.where)
    return next(seen, run.jobs[0].id if run.jobs else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonList:
    """The first comparisons that found a difference, and the numbers of the other comparisons."""

    rows: Sequence[views.ComparisonRow]
    more: int
    alike: int


def comparison_list(run: RunDocument) -> ComparisonList:
    """The comparisons of a run as the page of its report shows them."""
    every = views.comparisons_of(run)
    differing = [
        row
        for row in every
        if row.part.result not in {ComparisonResult.IDENTICAL, ComparisonResult.EQUIVALENT}
    ]
    return ComparisonList(
        rows=differing[:MOST_COMPARED],
        more=max(0, len(differing) - MOST_COMPARED),
        alike=len(every) - len(differing),
    )
