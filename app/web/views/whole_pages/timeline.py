"""The timeline of a report: what happened to it, newest first, from its submission to the last word on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.runs.lookup.changes import ChangeSummary
from app.runs.lookup.reports import ReportDetails, RunSummary
from app.runs.run_object.bisection_document import BisectionPart
from app.runs.run_object.maintainer_acts import Act

MOST_ENTRIES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event. `about` is its run, change, bisection or act; None for the submission."""

    at: datetime
    kind: Literal["submitted", "run", "change", "bisection", "act"]
    about: RunSummary | ChangeSummary | BisectionPart | Act | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The newest entries, and how many older ones are left out."""

    entries: Sequence[Entry]
    left_out: int


def timeline_of(report: ReportDetails, changes: Sequence[ChangeSummary]) -> Timeline:
    """The timeline of a report. A change that was found in several cells is one entry."""
    every = sorted(_entries(report, changes), key=lambda entry: entry.at, reverse=True)
    return Timeline(entries=every[:MOST_ENTRIES], left_out=max(0, len(every) - MOST_ENTRIES))


def _entries(report: ReportDetails, changes: Sequence[ChangeSummary]) -> Iterator[Entry]:
    for act in report.acts:
        yield Entry(at=act.created_at, kind="act", about=act)
    for bisection in report.bisections:
        yield Entry(at=bisection.finished_at or bisection.created_at, kind="bisection", about=bisection)
    known: set[tuple[str, str]] = set()
    for change in changes:
        if (change.kind, change.words) not in known:
            known.add((change.kind, change.words))
            yield Entry(at=change.created_at, kind="change", about=change)
    bisections = {bisection.id for bisection in report.bisections}
    for run in report.runs:
        # The run of a bisection is told by its answer.
        if run.id not in bisections:
            yield Entry(at=run.created_at, kind="run", about=run)
    yield Entry(at=report.created_at, kind="submitted")
