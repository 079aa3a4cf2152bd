"""Start a new run of a report that is stored."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.ids import new_id
from app.runs.rows.by_id import get_report
from app.runs.rows.facts import reading_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.idempotency import earlier_answer
from app.runs.submission.launch import launch_reading
from app.settings import ServiceSettings
from app.targets.planning.run_request import RunRequest


def relaunch(
    session: Session,
    report_id: str,
    request: RunRequest,
    *,
    settings: ServiceSettings,
    who: str | None = None,
    idempotency_key: str | None = None,
) -> RunDocument:
    """Start a new run of a stored report. The caller commits. `who` is the id of a token.

    Raises NotFoundError, ConflictError for a withdrawn report, InputError.
    """
    report = get_report(session, report_id)
    run_id = new_id()
    body_digest = json_digest({"report": report_id, **request.cells_as_data()})
    earlier_run = earlier_answer(
        session, idempotency_key, body_digest=body_digest, run_id=run_id, submitter=who
    )
    if earlier_run is not None:
        return earlier_run
    fleet = known_fleet(session, settings=settings)
    reading = reading_of(session, report)
    return launch_reading(
        session, report, reading, request, run_id=run_id, fleet=fleet, settings=settings, submitter=who
    )
