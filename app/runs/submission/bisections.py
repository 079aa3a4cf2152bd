"""Bisections on the service: start one, show it, list those of a report, cancel one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.ids import is_id, new_id
from app.intake.reading import Reading, Script
from app.runs.lifecycle.bisection import continue_bisection
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lifecycle.settle import finish_if_done
from app.runs.rows.by_id import get_report, get_runnable_report
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.rows.page import Page, page
from app.runs.rows.quarantined_parts import current_quarantines
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest, subject_of
from app.runs.run_object.storable import json_digest
from app.runs.submission.idempotency import earlier_answer
from app.runs.submission.known_versions import KnownPoint, with_known_versions
from app.settings import ServiceSettings
from app.storage.models import BisectionRow, RunRow
from app.storage.queries import bisections as queries
from app.targets.planning.presets import BISECTION
from app.targets.quarantines import QUARANTINED
from app.targets.versions.series import Series, make_series, serve
from worker.contract import Hello

# The most trials at the same time. More trials would add little to the answer, and other runs wait too.
MOST_SIDE_BY_SIDE = 4


def start_bisection(
    session: Session,
    report_id: str,
    request: BisectionRequest,
    *,
    settings: ServiceSettings,
    asked_by: str | None = None,
    who: str | None = None,
    idempotency_key: str | None = None,
) -> BisectionDocument:
    """Plan the series and queue the first trials. The caller commits. `who` is the id of a token.

    Raises NotFoundError, InputError, ConflictError, IdempotencyError.
    """
    report = get_runnable_report(session, report_id)
    bisection_id, digest = new_id(), _digest(report_id, request)
    key = idempotency_key
    earlier = earlier_answer(session, key, body_digest=digest, run_id=bisection_id, submitter=who)
    if earlier is not None:
        return bisection_document(session, earlier.id)
    reading = reading_of(session, report)
    nodes = known_fleet(session, settings=settings)
    series = _series(reading, request, nodes, settings=settings)
    script = subject_of(reading).script
    points = _known_points(
        session, request, series, script=script, nodes=nodes, report_id=report_id, settings=settings
    )
    if script.digest in current_quarantines(session).scripts:
        raise ConflictError(QUARANTINED.detail, code=QUARANTINED.code)
    run = RunRow(
        id=bisection_id,
        report_id=report.id,
        state="queued",
        preset=BISECTION,
        submitter=who,
        repeats_at_most=request.most_attempts,
        repeats_exact=False,
        last_event=0,
        summary="",
        created_at=now(),
    )
    _add(session, run)
    emit(session, run, "run.created")
    row = BisectionRow(
        id=run.id,
        report_id=report.id,
        axis=series.axis,
        points=[_point(one) for one in points],
        error=request.error,
        most_attempts=request.most_attempts,
        side_by_side=max(1, min(MOST_SIDE_BY_SIDE, sum(hello.slots for hello in nodes))),
        answer={},
        asked_by=asked_by,
        created_at=run.created_at,
    )
    _add(session, row)
    continue_bisection(session, run, settings=settings)
    finish_if_done(session, run)
    session.flush()
    return _document(row, run)


def _add(session: Session, row: RunRow | BisectionRow) -> None:
    session.add(row)
    session.flush()


def _digest(report_id: str, request: BisectionRequest) -> str:
    """The digest of a request, for its idempotency key."""
    return json_digest(
        {
            "bisect": report_id,
            "axis": request.axis,
            "base": request.base.model_dump(mode="json"),
            "series": [request.begin, request.end, *request.toolchains],
            "sure": [request.error, request.most_attempts],
        }
    )


def _series(
    reading: Reading, request: BisectionRequest, nodes: Sequence[Hello], *, settings: ServiceSettings
) -> Series:
    if reading.ask:
        raise InputError(
            "The report lacks something that only the reporter has. Its runs say what to ask for.",
            code="needs_info",
        )
    subject = subject_of(reading)
    series = make_series(
        request.axis,
        request.base,
        nodes,
        begin=request.begin,
        end=request.end,
        toolchains=request.toolchains,
        required_level=settings.required_level,
    )
    return serve(series, subject.script, nodes, required_level=settings.required_level)


def _known_points(
    session: Session,
    request: BisectionRequest,
    series: Series,
    *,
    script: Script,
    nodes: Sequence[Hello],
    report_id: str,
    settings: ServiceSettings,
) -> list[KnownPoint]:
    """The points of the series; where the request chooses no toolchains, also those that are away now."""
    if request.toolchains:
        return [KnownPoint(point) for point in series.points]
    return with_known_versions(
        session,
        report_id,
        series,
        base=request.base,
        script=script,
        fleet=nodes,
        required_level=settings.required_level,
    )


def _point(known: KnownPoint) -> dict[str, Any]:
    point = known.point
    lack = None if point.lack is None else point.lack.model_dump(mode="json")
    return {
        "value": point.value,
        "target": point.target.model_dump(mode="json"),
        "lack": lack,
        "earlier": known.job,
    }


def bisection_document(session: Session, bisection_id: str) -> BisectionDocument:
    """A bisection with its results so far. Raises NotFoundError."""
    rows = queries.bisection_of(session, bisection_id) if is_id(bisection_id) else None
    if rows is None:
        raise NotFoundError("There is no bisection with this id.")
    return _document(*rows)


def bisections_of_report(
    session: Session, report_id: str, *, cursor: str | None = None, limit: int = 50
) -> Page[BisectionDocument]:
    """A page of the bisections of a report, newest first. Raises NotFoundError, InputError."""
    get_report(session, report_id)

    def read(before: str | None, most: int) -> Sequence[Row[BisectionRow, RunRow]]:
        return queries.bisections_of_report(session, report_id, before=before, limit=most)

    rows = page(read, cursor=cursor, limit=limit, id_of=lambda row: row.BisectionRow.id)
    return rows.map(lambda row: _document(*row))


def cancel_bisection(
    session: Session, bisection_id: str, *, who: str | None = None, idempotency_key: str | None = None
) -> BisectionDocument:
    """Cancel a bisection; its results so far are kept. `who` is the id of a token.

    Raises NotFoundError, ConflictError if it has finished.
    """
    bisection_document(session, bisection_id)
    digest = json_digest({"cancel": bisection_id})
    earlier_run = earlier_answer(
        session, idempotency_key, body_digest=digest, run_id=bisection_id, submitter=who
    )
    if earlier_run is None:
        cancel_run(session, bisection_id)
        session.flush()
    return bisection_document(session, bisection_id)


def _document(row: BisectionRow, run: RunRow) -> BisectionDocument:
    """The stored answer with the fields that only the rows have."""
    answer = BisectionDocument.model_validate(row.answer)
    return answer.model_copy(
        update={
            "state": run.state,
            "report": row.report_id,
            "run": run.id,
            "asked_by": row.asked_by,
            "created_at": row.created_at,
            "finished_at": run.finished_at,
        }
    )
