"""The canary: a script with a known verdict that the service runs through its own nodes, on a schedule.

Nothing but `/readyz` and `/metrics` shows it. The last few are stored with their attempts, so that a failure
can be studied.
"""

from __future__ import annotations

from datetime import timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.errors import UnavailableError
from app.ids import new_id
from app.intake.read import read
from app.judging.judgement import Verdict
from app.limits import NO_READ_LIMITS
from app.runs.lifecycle.cancel import cancel_run
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.storable import split_reading
from app.runs.submission.launch import launch_reading
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import ReportRow, RunRow
from app.storage.new_rows import NewRows
from app.storage.queries import canaries as queries
from app.targets.fleet import usable_toolchains
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target

log = structlog.get_logger(__name__)

# It needs no package, so every toolchain can run it.
SCRIPT = 'raise ArithmeticError("the canary fails as it should")\n'
CLAIM = "ArithmeticError: the canary fails as it should"
EXPECTED = Verdict.REPRODUCED
REPEATS = 2
# Ended canaries that stay.
STORED = 10


def canary_round(factory: sessionmaker[Session], *, settings: ServiceSettings) -> None:
    """Start a canary if one is due and a node can run it. Cancel one that takes too long."""
    if not settings.canary_seconds:
        return
    with factory.begin() as session:
        if not queries.take_turn(session):
            return
        newest = queries.newest_canary(session)
        if newest is not None and newest.state in OPEN_STATES:
            if _age(newest) > settings.canary_limit_seconds:
                log.error("canary_late", run=newest.id, seconds=settings.canary_limit_seconds)
                cancel_run(session, newest.id)
        elif newest is None or _age(newest) >= settings.canary_seconds:
            if newest is not None and newest.verdict is not EXPECTED:
                log.error("canary_failed", run=newest.id, verdict=newest.verdict)
            queries.delete_canaries(session, leave=STORED)
            _start(session, settings=settings)


def _start(session: Session, *, settings: ServiceSettings) -> None:
    fleet = known_fleet(session, settings=settings)
    toolchains = usable_toolchains(fleet)
    if not toolchains:
        return
    reading = read(SCRIPT, form="script", claim=CLAIM, title="canary", limits=NO_READ_LIMITS)
    stored_reading, scripts = split_reading(reading)
    moment = now()
    new = NewRows()
    new.add_scripts(scripts, moment=moment)
    # Without a main script it is no duplicate of anything, and is never rerun.
    report = ReportRow(
        id=new_id(moment),
        title="canary",
        form="script",
        text=SCRIPT,
        claim_text=CLAIM,
        reading=stored_reading,
        considered_at=moment,
        created_at=moment,
        is_canary=True,
    )
    new.add(report)
    new.write(session)
    request = RunRequest(targets=(Target(device="cpu", toolchain=max(toolchains)),), repeats=REPEATS)
    launch_reading(
        session,
        report,
        reading,
        request,
        run_id=new_id(),
        fleet=fleet,
        settings=settings,
        trigger="canary",
    )


def require_canary(session: Session, *, settings: ServiceSettings) -> None:
    """Raise UnavailableError if the last canary failed, takes too long, or was not started in time."""
    if not settings.canary_seconds:
        return
    newest = queries.newest_canary(session)
    if newest is None:
        return
    late = timedelta(seconds=settings.canary_limit_seconds)
    if newest.state in OPEN_STATES:
        if _age(newest) > late.total_seconds():
            raise UnavailableError(
                f"The canary, run {newest.id}, has not ended after {late.total_seconds():g} s: "
                "do nodes, recorder and beat work?",
                code="canary_late",
            )
        newest = queries.newest_canary(session, ended=True)
    elif _age(newest) > settings.canary_seconds + late.total_seconds() and known_fleet(
        session, settings=settings
    ):
        raise UnavailableError(
            f"No canary was started since {newest.created_at:%Y-%m-%d %H:%M} UTC: do recorder and beat work?",
            code="canary_late",
        )
    if newest is not None and (newest.state == "cancelled" or newest.verdict is not EXPECTED):
        raise UnavailableError(
            f"The canary, run {newest.id}, gave {newest.verdict or newest.state} instead of {EXPECTED}: "
            f"{newest.summary or 'look at its attempts.'}",
            code="canary_failed",
        )


def canary_passed(session: Session, *, settings: ServiceSettings) -> bool:
    """False if `require_canary` raises."""
    try:
        require_canary(session, settings=settings)
    except UnavailableError:
        return False
    return True


def _age(run: RunRow) -> float:
    """Seconds since a run was created."""
    return (now() - run.created_at).total_seconds()
