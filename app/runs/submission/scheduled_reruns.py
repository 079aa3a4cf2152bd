"""Run open reports again by themselves: when a toolchain comes, when their time has come, when a pair lacks its other side.

Each run is started in one transaction under a lock that all rounds share: what is stored is started, what is not is found again by the
next round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.ids import id_at, new_id
from app.judging.judgement import Verdict
from app.judging.report.axis import of_versions
from app.runs.rows.facts import reading_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.submission.launch import Wish, launch_reading
from app.settings import ServiceSettings
from app.states import Trigger
from app.storage.models import JobRow, ReportRow
from app.storage.queries import rerun as queries
from app.storage.queries.runs import lock_report
from app.targets.fleet import nearest_lack, usable_toolchains
from app.targets.planning.plan import DEFAULT_REPEATS
from app.targets.target import Target, target_of
from app.targets.versions.rerun import with_new, with_newest
from worker.contract import Hello

log = structlog.get_logger(__name__)

# Looked at in one transaction, whether they turn out to have something to run or not.
AT_ONCE = 50
# Of one round; the next goes on.
STEPS = 20
DAY = timedelta(days=1)
UNTOLD = frozenset({Verdict.NEEDS_INFO, Verdict.NO_RESULT})


def rerun_round(factory: sessionmaker[Session], *, settings: ServiceSettings) -> None:
    """Start what is due and within the budget, stalest first."""
    for _ in range(STEPS if settings.rerun else 0):
        with factory.begin() as session:
            if not queries.take_turn(session) or not _step(session, settings=settings):
                return


def _step(session: Session, *, settings: ServiceSettings) -> bool:
    """Start one run, or find that some reports need none; False when there is nothing to look at, or no budget."""
    left = settings.rerun_attempts_a_day - queries.attempts_spent(session, since=id_at(now() - DAY))
    cells = min(settings.rerun_cells, left // DEFAULT_REPEATS)
    if cells < 1 or queries.count_open(session, queries.OURS) >= settings.rerun_at_once:
        return False
    fleet = known_fleet(session, settings=settings)
    if not fleet:
        return False
    return (
        _complete_a_pair(session, fleet, cells=cells, settings=settings)
        or _try_new_toolchains(session, fleet, cells=cells, settings=settings)
        or _verify_the_stalest(session, fleet, cells=cells, settings=settings)
    )


def _complete_a_pair(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """Both sides of a change again, side by side, where machines differ and not versions."""
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
            and not of_versions(change.differs if not change.axis else ())
            and lacks == [None] * len(targets)
        ):
            _start(session, report, targets, "baseline", fleet=fleet, settings=settings)
            return True
    return False


def _try_new_toolchains(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """The stalest reports that have not been considered since a toolchain came, up to the first with something to run."""
    since = _since(session, fleet)
    due = (
        queries.due_reports(session, considered=max(since.values()), verified=None, limit=AT_ONCE)
        if since
        else ()
    )
    return _start_first(session, due, since, fleet=fleet, cells=cells, settings=settings)


def _verify_the_stalest(
    session: Session, fleet: Sequence[Hello], *, cells: int, settings: ServiceSettings
) -> bool:
    """The reports that were verified longest ago, if that is long ago, up to the first with something to run."""
    cutoff = _cutoff(settings)
    due = (
        ()
        if cutoff is None
        else queries.due_reports(session, considered=cutoff, verified=cutoff, limit=AT_ONCE)
    )
    return _start_first(session, due, _since(session, fleet), fleet=fleet, cells=cells, settings=settings)


def _since(session: Session, fleet: Sequence[Hello]) -> dict[str, datetime]:
    here = usable_toolchains(fleet)
    return {name: moment for name, moment in queries.toolchains(session).items() if name in here}


def _cutoff(settings: ServiceSettings) -> datetime | None:
    return now() - timedelta(days=settings.rerun_days) if settings.rerun_days else None


def _start_first(
    session: Session,
    due: Sequence[ReportRow],
    since: Mapping[str, datetime],
    *,
    fleet: Sequence[Hello],
    cells: int,
    settings: ServiceSettings,
) -> bool:
    """Consider reports in turn until one is run; whether there was any."""
    cutoff = _cutoff(settings)
    for report in due:
        script, ran = reading_of(session, report).scripts[0], _ran_on(session, report)
        new = {name for name, moment in since.items() if moment > report.considered_at}
        report.considered_at = now()
        occasion: Trigger = "toolchain"
        targets = with_new(script, ran, new, fleet=fleet, required_level=settings.required_level, most=cells)
        if (
            not targets
            and cutoff is not None
            and report.verified_at is not None
            and report.verified_at < cutoff
        ):
            occasion = "schedule"
            targets = with_newest(
                script, ran, fleet=fleet, required_level=settings.required_level, most=cells
            )
        if targets:
            _start(session, report, targets, occasion, fleet=fleet, settings=settings)
            break
    return bool(due)


def _ran_on(session: Session, report: ReportRow) -> list[Target]:
    return [target_of(job) for job in queries.ran_on(session, report.id, without=UNTOLD)]


def _start(
    session: Session,
    report: ReportRow,
    targets: Sequence[Target],
    occasion: Trigger,
    *,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
) -> None:
    wish = Wish(targets=tuple(targets))
    run_id = new_id()
    launch_reading(
        session,
        report,
        reading_of(session, report),
        wish,
        run_id=run_id,
        fleet=fleet,
        settings=settings,
        occasion=occasion,
    )
    log.info("run_again", report=report.id, run=run_id, occasion=occasion, cells=len(targets))
