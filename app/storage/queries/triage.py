"""Reads regressions in their groups, each report once, with the evidence that a line of a list needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    Text,
    and_,
    case,
    column,
    false,
    func,
    literal,
    or_,
    select,
    true,
    values,
)
from sqlalchemy.orm import Session

from app.judging.judgement import INCONCLUSIVE
from app.judging.report.change import ChangeKind
from app.judging.report.owner import NO_DEFECT, Owner
from app.judging.report.triage import TriageGroup
from app.storage.models import (
    AttemptRow,
    ChangeRow,
    EnvironmentRow,
    JobRow,
    ReportCellRow,
    ReportRow,
    RunRow,
)
from app.targets.versions.release_lines import RankedToolchain

# The groups by their number in SQL: a report is in the first group of its changes.
GROUPS = tuple(TriageGroup)
_ANNOUNCED = "announced"
_CHARACTERS = 400
# Warnings are looked for in so much of stderr.
_STDERR_CHARACTERS = 4_000


def group_number() -> ColumnElement[int]:
    """The number of a change's group. The statement joins the report and the run of the change.

    The owner on the report's row is that of its page. A row that is older than this column has none.
    """
    settled = or_(
        ReportRow.closed_at.is_not(None),
        ReportRow.withdrawn_at.is_not(None),
        ReportRow.overruled.is_not(None),
        ReportRow.confirmed_at.is_not(None),
        RunRow.overruled.is_not(None),
        ReportRow.owner.in_([*NO_DEFECT, Owner.NOBODY]),
    )
    by_warning = and_(ReportRow.owner.is_(None), ChangeRow.removal["cause"].astext == _ANNOUNCED)
    announced = or_(ReportRow.owner == Owner.ANNOUNCED, by_warning)
    return case(
        (settled, GROUPS.index(TriageGroup.SETTLED)),
        (announced, GROUPS.index(TriageGroup.ANNOUNCED)),
        else_=GROUPS.index(TriageGroup.UNEXPLAINED),
    )


def in_newest_line(ranks: Sequence[RankedToolchain]) -> ColumnElement[bool]:
    """Whether a change is of the newest release line that its row of the report was tried with.

    A newer toolchain that gave no answer for that row, for whatever reason, hides nothing. `ranks` are all
    known toolchains, also with packages that were added for a report.
    """
    if not ranks:
        return false()
    own, other = _ranks(ranks, "own"), _ranks(ranks, "other")
    tried_newer = (
        select(literal(1))
        .select_from(ReportCellRow)
        .join(other, ReportCellRow.toolchain == other.c.name)
        .where(
            ReportCellRow.report_id == ChangeRow.report_id,
            ReportCellRow.script == ChangeRow.script_digest,
            _without_toolchain(ReportCellRow.label) == _without_toolchain(ChangeRow.target),
            ReportCellRow.verdict.not_in(list(INCONCLUSIVE)),
            other.c.package == own.c.package,
            other.c.line < own.c.line,
        )
    )
    newest: ColumnElement[bool] = (
        select(literal(1)).where(own.c.name == ChangeRow.toolchain, ~tried_newer.exists()).exists()
    )
    return newest


def _ranks(ranks: Sequence[RankedToolchain], name: str) -> Any:
    columns = column("name", Text), column("package", Text), column("line", Integer)
    return values(*columns, name=name).data([(one.name, one.package, one.line) for one in ranks])


def _without_toolchain(label: Any) -> ColumnElement[str]:
    """The label of a target without its toolchain: `cpu:threads=1` for `cpu@numpy-2.4.0:threads=1`.

    The label of a cell also has its machine, after a blank.
    """
    return func.regexp_replace(label, "@[^: ]*| .*", "", "g")


def _reports(ranks: Sequence[RankedToolchain]) -> Select[Any]:
    """The first change of each report that regressed in its newest release line, with its group's number."""
    number = group_number()
    place = func.row_number().over(partition_by=ChangeRow.report_id, order_by=(number, ChangeRow.id.desc()))
    ranked = (
        select(ChangeRow.id, number.label("number"), place.label("place"))
        .join(ReportRow, ReportRow.id == ChangeRow.report_id)
        .join(RunRow, RunRow.id == ChangeRow.run_id)
        .where(ChangeRow.kind == ChangeKind.REGRESSED, in_newest_line(ranks))
        .subquery()
    )
    return select(ranked.c.id, ranked.c.number).where(ranked.c.place == 1)


def sizes(session: Session, ranks: Sequence[RankedToolchain]) -> dict[TriageGroup, int]:
    """The number of reports in each group."""
    reports = _reports(ranks).subquery()
    rows = session.execute(select(reports.c.number, func.count()).group_by(reports.c.number))
    return {GROUPS[number]: count for number, count in rows}


def regressions(session: Session, ranks: Sequence[RankedToolchain], *, each: int) -> Sequence[Row[Any]]:
    """The newest reports of each group, at most `each`, with the size of the group.

    A row has the change, its number, the size, and what maintainers did.
    """
    reports = _reports(ranks).subquery()
    group = reports.c.number
    place = func.row_number().over(partition_by=group, order_by=reports.c.id.desc())
    size = func.count().over(partition_by=group)
    listed = select(reports.c.id, group, place.label("place"), size.label("size")).subquery()
    statement = (
        select(
            ChangeRow,
            ReportRow.title,
            ReportRow.source_url,
            ReportRow.closed_at,
            ReportRow.withdrawn_at,
            ReportRow.confirmed_at,
            ReportRow.owner,
            func.coalesce(ReportRow.overruled, RunRow.overruled).label("overruled"),
            listed.c.number,
            listed.c.size,
        )
        .select_from(ChangeRow)
        .join(listed, listed.c.id == ChangeRow.id)
        .join(ReportRow, ReportRow.id == ChangeRow.report_id)
        .join(RunRow, RunRow.id == ChangeRow.run_id)
        .where(listed.c.place <= each)
        .order_by(listed.c.number, ChangeRow.id.desc())
    )
    return session.execute(statement).all()


def evidence_of(session: Session, job_ids: Collection[str]) -> dict[str, Row[Any]]:
    """The hardware of jobs, the number of their counted attempts, and how the first one ended."""
    counted = (AttemptRow.job_id == JobRow.id, AttemptRow.counted, AttemptRow.state == "recorded")
    first = (
        # The observation is selected once: each path into a large stored result would decompress all of it.
        select(AttemptRow.result["observation"].label("seen"))
        .where(*counted)
        .order_by(AttemptRow.id)
        .limit(1)
        .lateral("first")
    )
    seen = first.c.seen
    statement = (
        select(
            JobRow.id,
            JobRow.verdict,
            JobRow.target["device"].astext.label("device"),
            EnvironmentRow.facts["gpu.0.model"].astext.label("card"),
            EnvironmentRow.facts["cpu.model"].astext.label("processor"),
            func.left(seen[("exception", "type")].astext, _CHARACTERS).label("exception_type"),
            func.left(seen[("exception", "message")].astext, _CHARACTERS).label("exception_message"),
            seen["warnings"].label("warnings"),
            func.left(seen["stderr"].astext, _STDERR_CHARACTERS).label("stderr"),
            seen["signal"].astext.label("signal"),
            func.right(seen["stdout"].astext, _CHARACTERS).label("stdout"),
            select(func.count()).where(*counted).correlate(JobRow).scalar_subquery().label("attempts"),
        )
        .select_from(JobRow)
        .outerjoin(first, true())
        .outerjoin(EnvironmentRow, EnvironmentRow.digest == JobRow.environment_digest)
        .where(JobRow.id.in_(list(job_ids)))
    )
    return {row.id: row for row in session.execute(statement)}
