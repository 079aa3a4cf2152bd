"""The regressions with the newest toolchains, in groups: a line for each report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.output.warnings_of import warnings_in
from app.judging.report.change import ChangeKind
from app.judging.report.owner import Owner
from app.judging.report.triage import TriageGroup
from app.runs.lookup.changes import (
    ChangeSummary,
    NewestToolchains,
    change_summary,
    newest_toolchains,
    reports_by_kind,
)
from app.storage.queries import changes as change_queries
from app.storage.queries import triage as queries
from worker.contract import CapturedWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageLine:
    """A report that regressed: the change, the counts on both sides, and the hardware.

    `seen_before` and `seen` say how an attempt of the older and of the newer version ended, and `warning` is
    one that only the newer version gives: they quote untrusted text. `is_closed`, `is_confirmed` and
    `overruled` are a maintainer's acts, and `owner` is that of the report's page.
    """

    change: ChangeSummary
    before: str
    after: str
    hardware: str
    seen_before: str
    seen: str
    warning: str
    is_closed: bool
    is_withdrawn: bool
    is_confirmed: bool
    overruled: Verdict | None
    owner: Owner | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriagePart:
    """A group: the number of its reports, and the newest of them."""

    group: TriageGroup
    size: int
    lines: tuple[TriageLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """The regressions with the newest toolchains that each report was tried with, each report in one group.

    `toolchains` are the newest ones with results, `untried` the newest ones without, and `regressed_with`
    those with which a report regressed.
    """

    toolchains: tuple[str, ...]
    untried: tuple[str, ...]
    regressed_with: tuple[str, ...]
    fixed: int
    parts: tuple[TriagePart, ...]

    @property
    def size(self) -> int:
        """The number of all reports that regressed."""
        return sum(part.size for part in self.parts)

    @property
    def groups(self) -> tuple[TriageGroup, ...]:
        """All groups, also those without a report."""
        return tuple(TriageGroup)

    def part(self, group: str) -> TriagePart:
        """The part of a group, perhaps without lines."""
        return next(
            (part for part in self.parts if part.group == group),
            TriagePart(group=TriageGroup(group), size=0, lines=()),
        )


def triage(session: Session, *, each: int) -> Triage | None:
    """The triage, with at most `each` lines a group. None if no node has offered a toolchain."""
    newest = newest_toolchains(session)
    if not newest.every:
        return None
    ranks = newest.ranks()
    rows = queries.regressions(session, ranks, each=each)
    jobs = {row_id for row in rows for row_id in (row.ChangeRow.job_id, row.ChangeRow.before_job_id)}
    evidence = queries.evidence_of(session, jobs) if jobs else {}
    regressed_with = change_queries.toolchains_with(session, ChangeKind.REGRESSED, ranks) if rows else ()
    return Triage(
        toolchains=newest.tried,
        untried=newest.untried,
        regressed_with=tuple(regressed_with),
        fixed=reports_by_kind(session, newest).get(ChangeKind.FIXED, 0),
        parts=tuple(
            TriagePart(group=group, size=mine[0].size, lines=tuple(_line(row, evidence) for row in mine))
            for group in TriageGroup
            if (mine := [row for row in rows if queries.GROUPS[row.number] is group])
        ),
    )


def triage_sizes(session: Session, newest: NewestToolchains) -> dict[TriageGroup, int]:
    """The number of reports in each group."""
    return queries.sizes(session, newest.ranks())


def _line(row: Row[Any], evidence: Mapping[str, Row[Any]]) -> TriageLine:
    change = change_summary(row.ChangeRow, row.title, row.source_url, row.number)
    before, after = evidence.get(change.before_job), evidence.get(change.job)
    return TriageLine(
        change=change,
        before=_count(before, change.before),
        after=_count(after, change.after),
        hardware=_hardware(after),
        seen_before=_ending(before),
        seen=_ending(after),
        warning=_new_warning(before, after),
        is_closed=row.closed_at is not None,
        is_confirmed=row.confirmed_at is not None,
        is_withdrawn=row.withdrawn_at is not None,
        overruled=row.overruled,
        owner=row.owner,
    )


def _count(job: Row[Any] | None, verdict: Verdict) -> str:
    """The attempts that showed the claim: `3 of 3`. Empty if they are not known."""
    if job is None or not job.attempts:
        return ""
    times = {Verdict.REPRODUCED: str(job.attempts), Verdict.NOT_REPRODUCED: "0"}.get(verdict, "some")
    return f"{times} of {job.attempts}"


def _hardware(job: Row[Any] | None) -> str:
    if job is None:
        return ""
    return (job.processor if job.device == "cpu" else job.card) or ""


def _ending(job: Row[Any] | None) -> str:
    """The error or the signal, else the last line of the output."""
    if job is None:
        return ""
    if job.exception_type:
        return f"raises {job.exception_type}: {job.exception_message or ''}"
    if job.signal:
        return f"ends with {job.signal}"
    lines = (job.stdout or "").strip().splitlines()
    return f"prints {lines[-1]}" if lines else ""


def _new_warning(before: Row[Any] | None, after: Row[Any] | None) -> str:
    """The first warning that only the newer version gives; empty without one."""
    if before is None or after is None:
        return ""
    known = {(one.category, one.text) for one in _warnings(before)}
    new = [one for one in _warnings(after) if (one.category, one.text) not in known]
    first = min(new, key=lambda one: not one.script_line, default=None)
    return "" if first is None else f"{first.category}: {first.text}"


def _warnings(job: Row[Any]) -> list[CapturedWarning]:
    captured = job.warnings
    stored = None if captured is None else [CapturedWarning.model_validate(one) for one in captured]
    return warnings_in(stored, job.stderr or "")
