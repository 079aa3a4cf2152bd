"""Lists of reports and runs, newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    LargeBinary,
    Row,
    Select,
    Text,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by, distinct_on
from sqlalchemy.orm import Session

from app.states import HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import ActRow, AttemptRow, JobRow, ReportRow, RunRow, ScriptRow
from app.storage.models.script import BANDS
from app.storage.queries.reports.precedence import gives_way


def runs(session: Session, *, before: str | None, limit: int) -> Sequence[RunRow]:
    """Runs older than an id, without canaries."""
    statement = select(RunRow).where(RunRow.trigger != "canary").order_by(RunRow.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(RunRow.id < before)
    return session.scalars(statement).all()


def reports_by_id(session: Session, report_ids: Collection[str]) -> Sequence[ReportRow]:
    """The reports with these ids."""
    return session.scalars(select(ReportRow).where(ReportRow.id.in_(report_ids))).all()


def reports_at(
    session: Session, addresses: Collection[str], *, each: int
) -> Sequence[tuple[ReportRow, str | None]]:
    """The newest reports of each of these addresses with their submitters, newest first.

    At most `each` of one submitter at one address: nobody pushes the reports of others out of sight.
    """
    submitter = (
        select(RunRow.submitter)
        .where(RunRow.report_id == ReportRow.id)
        .order_by(RunRow.id)
        .limit(1)
        .scalar_subquery()
    )
    at_address = (
        select(ReportRow.id, ReportRow.source_url, submitter.label("submitter"))
        .where(ReportRow.source_url.in_(addresses), ReportRow.is_canary.is_(False))
        .subquery()
    )
    place = func.row_number().over(
        partition_by=(at_address.c.source_url, at_address.c.submitter), order_by=at_address.c.id.desc()
    )
    ranked = select(at_address.c.id, at_address.c.submitter, place.label("place")).subquery()
    rows = session.execute(
        select(ReportRow, ranked.c.submitter)
        .join(ranked, ranked.c.id == ReportRow.id)
        .where(ranked.c.place <= each)
        .order_by(ReportRow.id.desc())
    )
    return [(row, sender) for row, sender in rows]


def runs_of_report(session: Session, report_id: str) -> Sequence[RunRow]:
    """All runs of a report."""
    return session.scalars(
        select(RunRow).where(RunRow.report_id == report_id).order_by(RunRow.id.desc())
    ).all()


def digest_of_runs(session: Session, report_id: str) -> str | None:
    """A digest of all stored facts of a report's runs.

    A change of an attempt changes the last event of its run.

    None without runs, while a run is open, and while attempts are queued or on nodes.
    """
    mine = select(RunRow.id).where(RunRow.report_id == report_id).scalar_subquery()
    is_queued = exists().where(
        AttemptRow.state == "queued", AttemptRow.job_id.in_(select(JobRow.id).where(JobRow.run_id.in_(mine)))
    )
    is_held = exists().where(AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.run_id.in_(mine))
    act = (
        select(func.max(ActRow.id))
        .where(ActRow.subject_kind == "run", ActRow.subject.in_(mine))
        .scalar_subquery()
    )
    rows = func.string_agg(
        cast(literal_column(RunRow.__tablename__), Text), aggregate_order_by(literal_column("','"), RunRow.id)
    )
    is_open = func.bool_or(RunRow.state.in_(OPEN_STATES))
    row = session.execute(
        select(func.md5(rows), act, is_open, is_queued, is_held).where(RunRow.report_id == report_id)
    ).one()
    digest, latest_act, *still_changing = row
    return None if digest is None or any(still_changing) else f"{digest}{latest_act or ''}"


def reports_of_ids(session: Session, report_ids: Iterable[str]) -> Sequence[ReportRow]:
    """The reports with these ids, in any order."""
    return session.scalars(select(ReportRow).where(ReportRow.id.in_(list(report_ids)))).all()


# The columns that a list shows of a run.
_LISTED = (
    RunRow.id,
    RunRow.state,
    RunRow.preset,
    RunRow.trigger.label("trigger"),
    RunRow.verdict,
    RunRow.summary,
    RunRow.created_at,
    RunRow.finished_at,
    RunRow.contributed_by,
    RunRow.overruled,
)


@cache
def _latest_runs() -> Select[Any]:
    own = select(*_LISTED).where(RunRow.report_id == ReportRow.id, RunRow.contributed_by.is_(None))
    newest = own.order_by(RunRow.id.desc()).limit(1).correlate(ReportRow).lateral()
    of_report = select(func.count()).where(RunRow.report_id == ReportRow.id)
    return (
        select(
            ReportRow.id.label("report_id"),
            of_report.correlate(ReportRow).scalar_subquery().label("runs"),
            *newest.c,
        )
        .outerjoin(newest, true())
        # One array: a list of any length is the same statement.
        .where(ReportRow.id == func.any(bindparam("ids", type_=ARRAY(Text))))
    )


def latest_runs(session: Session, report_ids: Iterable[str]) -> dict[str, Row[Any]]:
    """The number of all runs of each report, and the latest run by our own nodes, by report id.

    A row has `runs`, and the columns of the run that a list shows. Without a run of ours these are NULL.
    """
    ids = list(report_ids)
    if not ids:
        return {}
    return {row.report_id: row for row in session.execute(_latest_runs(), {"ids": ids})}


def latest_jobs(session: Session, report_id: str) -> Sequence[Row[JobRow, RunRow]]:
    """The latest judged job of each script and target of a report, else the latest one.

    Separate for each contributor. A job of a bisection replaces only what it contradicts.
    """
    judged_first = JobRow.verdict.is_(None)
    cell = (JobRow.script_digest, JobRow.target, RunRow.contributed_by)
    statement = (
        select(JobRow, RunRow)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(RunRow.report_id == report_id)
        .order_by(*cell, judged_first, gives_way(cell), RunRow.id.desc())
        .ext(distinct_on(*cell))
    )
    return session.execute(statement).all()


def having_main_script(session: Session, digest: str, *, limit: int) -> Sequence[ReportRow]:
    """The reports with this main script, oldest first."""
    return session.scalars(
        select(ReportRow).where(ReportRow.main_script == digest).order_by(ReportRow.id).limit(limit)
    ).all()


def same_shape(
    session: Session, report_id: str, script: str, shape_digest: str | None, *, limit: int
) -> Sequence[Row[str, str]]:
    """The ids and titles of other reports whose main script is equal or has the same shape, newest first."""
    scripts = select(ScriptRow.digest).where(
        or_(ScriptRow.digest == script, ScriptRow.shape_digest == shape_digest)
    )
    statement = select(ReportRow.id, ReportRow.title).where(
        ReportRow.main_script.in_(scripts), ReportRow.id != report_id
    )
    return session.execute(statement.order_by(ReportRow.id.desc()).limit(limit)).all()


def alike_sketches(
    session: Session, sketch: bytes, *, shape_digest: str | None, limit: int
) -> Sequence[Row[str, str, str, str | None, bytes | None]]:
    """The newest reports whose sketch shares a piece with this one.

    Columns: id, title, and the digest, shape digest and sketch of the main script.
    """
    pieces = [sketch[at : at + 16] for at in range(0, len(sketch), 16)]
    shares = literal_column(BANDS, ARRAY(LargeBinary())).overlap(cast(pieces, ARRAY(LargeBinary())))
    marks = select(ScriptRow.digest, ScriptRow.shape_digest, ScriptRow.sketch)
    # A subquery with OFFSET, or Postgres would scan the reports until it has found enough.
    alike = marks.where(shares, ScriptRow.shape_digest.is_distinct_from(shape_digest)).offset(0).subquery()
    statement = select(ReportRow.id, ReportRow.title, *alike.c).join(
        alike, alike.c.digest == ReportRow.main_script
    )
    return session.execute(statement.order_by(ReportRow.id.desc()).limit(limit)).all()
