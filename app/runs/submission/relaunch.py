"""A new run of a report that is stored."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.ids import new_id
from app.runs.rows.facts import reading_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.launch import Wish, launch_reading
from app.runs.submission.submit import answered_before
from app.settings import ServiceSettings
from app.storage.queries import runs as queries
from app.targets.target import Target


def relaunch(
    session: Session,
    report_id: str,
    *,
    settings: ServiceSettings,
    preset: str | None = None,
    targets: tuple[Target, ...] | None = None,
    repeats: int | None = None,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    idempotency_key: str | None = None,
) -> RunDocument:
    """A new run of a report that is kept. Raises NotFoundError, ConflictError when it was withdrawn, InputError; the caller commits."""
    row = queries.report_of(session, report_id)
    if row is None:
        raise NotFoundError("There is no report with this id.")
    wish = Wish(preset=preset, targets=targets, repeats=repeats, include=include, exclude=exclude)
    run_id = new_id()
    body = {"report": report_id, **wish.asked()}
    answered = answered_before(session, idempotency_key, body_digest=json_digest(body), run_id=run_id)
    if answered is not None:
        return answered
    fleet = known_fleet(session, settings=settings)
    return launch_reading(
        session, row, reading_of(session, row), wish, run_id=run_id, fleet=fleet, settings=settings
    )
