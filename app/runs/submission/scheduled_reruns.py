"""Start runs of open reports without a request.

A run is started when a change lacks a comparison on one machine, when a new toolchain came, or when the last
run of a report is old. Each run is started in a transaction of its own, under a lock that all rounds share.
If a transaction fails, nothing of it is stored, and the next round finds the same report again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.ids import id_at, new_id
from app.judging.judgement import Verdict
from app.judging.report.axis import include_version
from app.runs.rows.facts import reading_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.submission.launch import launch_reading
from app.settings import ServiceSettings
from app.states import Trigger
from app.storage.models import JobRow, ReportRow
from app.storage.queries import rerun as queries
from app.storage.queries.runs import lock_report
from app.targets.fleet import nearest_lack, usable_toolchains
from app.targets.planning.plan import DEFAULT_REPEATS
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target, target_of
from app.targets.versions.rerun import with_new, with_newest
from worker.contract import Hello

log = structlog.get_logger(__name__)

# The most reports that one transaction considers.
AT_ONCE = 50
# The most transactions of one round. The next round continues.
STEPS = 20
DAY = timedelta(days=1)
WITHOUT_EVIDENCE = frozenset({Verdict.NEEDS_INFO, Verdict.NO_RESULT})


def rerun_round(factory: sessionmaker[Session], *, settings: ServiceSettings) -> None:
    """Start the runs that are due and within the budget, for the longest unverified reports first."""
    for _ in range(STEPS if settings.rerun else 0):
        with factory.begin() as session:
            if not queries.take_turn(session) or not _step(session, settings=settings):
                return


def _step(session: Session, *, settings: ServiceSettings) -> bool:
    """Consider some reports and start at most one run. False if no report is due or the budget is spent."""
    attempts_left = settings.rerun_attempts_a_day - queries.attempts_spent(session, since=id_at(now() - DAY))
    cells = min(settings.rerun_cells, attempts_left // DEFAULT_REPEATS)
    if cells < 1 or queries.count_open(session, queries.OURS) >= settings.rerun_at_once:
        return False
    fleet = known_fleet(session, settings=settings)
    if not fleet:
        return False
    return (
        _rerun_a_change(session, fleet, cells=cells, settings=settings)
        or _try_new_toolchains(session, fleet, cells=cells, settings=settings)
        or _verify_the_stalest(session, fleet, cells=cells, settings=settings)
    )


def _rerun_a_change(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """Rerun both sides of a change in one run, if its machines differ and its versions do not."""
    if cells < len(("before", "after")):
        return False
    since = now() - max(DAY, timedelta(days=settings.rerun_days))
    for change in queries.without_baseline(session, since=id_at(since), limit=AT_ONCE):
        jobs = [session.get_one(JobRow, job_id) for job_id in (change.before_job_id, change.job_id)]
        targets = list({target.label(): target for job in jobs if (target := target_of(job))}.values())
        lacks = [nearest_lack(fleet, target, required_level=settings.required_level) for target in targets]
        report = lock_report(session, change.report_id)
        if (
            report is not None
            and not include_version(change.differs if not change.axis else ())
            and lacks == [None] * len(targets)
        ):
            _start(session, report, targets, "baseline", fleet=fleet, settings=settings)
            return True
    return False


def _try_new_toolchains(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """Consider reports that are older than the newest toolchain, until one of them can be run."""
    arrivals = _arrivals(session, fleet)
    if not arrivals:
        return False
    newest = max(arrivals.values())
    due = queries.due_reports(session, considered=newest, verified=None, limit=AT_ONCE)
    return _start_first(session, due, arrivals, fleet=fleet, cells=cells, settings=settings)


def _verify_the_stalest(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """Consider reports whose verdict has not been verified for `rerun_days`, until one of them can be run."""
    cutoff = _cutoff(settings)
    if cutoff is None:
        return False
    due = queries.due_reports(session, considered=cutoff, verified=cutoff, limit=AT_ONCE)
    arrivals = _arrivals(session, fleet)
    return _start_first(session, due, arrivals, fleet=fleet, cells=cells, settings=settings)


def _arrivals(session: Session, fleet: Sequence[Hello]) -> dict[str, datetime]:
    """When each usable toolchain was first offered."""
    usable = usable_toolchains(fleet)
    return {name: moment for name, moment in queries.toolchains(session).items() if name in usable}


def _cutoff(settings: ServiceSettings) -> datetime | None:
    return now() - timedelta(days=settings.rerun_days) if settings.rerun_days else None


def _start_first(
    session: Session,
    due: Sequence[ReportRow],
    arrivals: Mapping[str, datetime],
    *,
    fleet: Sequence[Hello],
    cells: int,
    settings: ServiceSettings,
) -> bool:
    """Consider reports in turn until a run of one is started. True if there was a report to consider."""
    cutoff = _cutoff(settings)
    for report in due:
        script = reading_of(session, report).scripts[0]
        earlier_targets = _targets_with_evidence(session, report)
        new = {name for name, moment in arrivals.items() if moment > report.considered_at}
        report.considered_at = now()
        trigger: Trigger = "toolchain"
        targets = with_new(
            script, earlier_targets, new, fleet=fleet, required_level=settings.required_level, most=cells
        )
        if (
            not targets
            and cutoff is not None
            and report.verified_at is not None
            and report.verified_at < cutoff
        ):
            trigger = "schedule"
            targets = with_newest(
                script, earlier_targets, fleet=fleet, required_level=settings.required_level, most=cells
            )
        if targets:
            _start(session, report, targets, trigger, fleet=fleet, settings=settings)
            break
    return bool(due)


def _targets_with_evidence(session: Session, report: ReportRow) -> list[Target]:
    return [target_of(job) for job in queries.ran_on(session, report.id, without=WITHOUT_EVIDENCE)]


def _start(
    session: Session,
    report: ReportRow,
    targets: Sequence[Target],
    trigger: Trigger,
    *,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
) -> None:
    run_id = new_id()
    launch_reading(
        session,
        report,
        reading_of(session, report),
        RunRequest(targets=tuple(targets)),
        run_id=run_id,
        fleet=fleet,
        settings=settings,
        trigger=trigger,
    )
    log.info("rerun_started", report=report.id, run=run_id, trigger=trigger, cells=len(targets))
