"""Flips: when a run of ours ends, its cells are held against older versions and against what was seen in the same place before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.intake.reading import Reading, ScriptRole
from app.judging.judgement import INCONCLUSIVE
from app.judging.report.axis import differs_by
from app.judging.report.change import Change, Side, change_of, is_comparable, is_same_word
from app.judging.verdict.job import judge_job
from app.runs.lifecycle.report_verdict import by_age
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of, repeat_plan_of, report_of_run, results_by_attempt
from app.storage.models import ChangeRow, EnvironmentRow, JobRow, RunRow
from app.storage.queries import changes as queries
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import report_verdict as standing_queries
from app.storage.queries.rerun import toolchains
from app.targets.packages import packages_of
from app.targets.target import target_of
from app.targets.versions.rerun import base_of
from worker.contract import Environment

log = structlog.get_logger(__name__)


def find_changes(session: Session, run: RunRow) -> None:
    """Store what changed with this run. Its row and its report's must be locked, and both be flushed."""
    jobs = [
        job
        for job in run_queries.jobs_of_run(session, run.id)
        if job.verdict is not None and job.verdict not in INCONCLUSIVE
    ]
    if run.contributed_by is not None or not jobs:
        return
    reading = reading_of(session, report_of_run(session, run))
    known = queries.judged_jobs(
        session, run.report_id, scripts={job.script_digest for job in jobs}, without=INCONCLUSIVE
    )
    if len(known) == len(jobs) == 1:
        return
    found = run_queries.environments(
        session, {job.environment_digest for job in known if job.environment_digest}
    )
    for place, (before, after) in enumerate(_pairs(session, run, reading, known, found)):
        _hold_against(session, run, reading, before, after, found=found, place=place)


def forget_changes(session: Session, job_ids: Collection[str]) -> None:
    """What rests on a job that is open again has not been seen."""
    queries.forget(session, job_ids)


def _pairs(
    session: Session,
    run: RunRow,
    reading: Reading,
    known: Sequence[JobRow],
    found: Mapping[str, EnvironmentRow],
) -> Iterator[tuple[JobRow, JobRow]]:
    """The pairs that a run makes, older side first: each version with the next older one that compares, each cell with its own past."""
    controls = {script.digest for script in reading.scripts if script.role is ScriptRole.CONTROL}
    cells = {key: list(jobs) for key, jobs in groupby(sorted(known, key=_cell), key=_cell)}
    newest = [max(jobs, key=lambda job: job.id) for jobs in cells.values()]
    for line in by_age(session, newest, controls=controls).values():
        sides = [sorted(cells[_cell(job)], key=lambda job: job.id, reverse=True) for job in line]
        imported = _imported(reading, line[0].script_digest)
        for place, side in enumerate(sides):
            pair = _nearest(run, side, sides[:place][::-1], imported=imported, found=found)
            if pair is not None:
                yield pair
            if side[0].run_id == run.id and len(side) > 1:
                yield _best(side[1:], side[:1], imported=imported, found=found) or (side[1], side[0])


def _cell(job: JobRow) -> tuple[str, str]:
    return job.script_digest, target_of(job).label()


def _imported(reading: Reading, digest: str) -> set[str]:
    return {
        package for script in reading.scripts if script.digest == digest for package in packages_of(script)
    }


def _nearest(
    run: RunRow,
    side: Sequence[JobRow],
    older: Sequence[Sequence[JobRow]],
    *,
    imported: set[str],
    found: Mapping[str, EnvironmentRow],
) -> tuple[JobRow, JobRow] | None:
    """The cell with the nearest older version that compares with it, else with the nearest; only what this run had a part in."""
    for other in older:
        pair = _best(other, side, imported=imported, found=found)
        if pair is not None:
            return pair if run.id in {other[0].run_id, side[0].run_id} else None
    if older and run.id in {older[0][0].run_id, side[0].run_id}:
        return older[0][0], side[0]
    return None


def _best(
    before: Sequence[JobRow],
    after: Sequence[JobRow],
    *,
    imported: set[str],
    found: Mapping[str, EnvironmentRow],
) -> tuple[JobRow, JobRow] | None:
    """The newest jobs of two cells whose environments compare."""
    pairs = sorted(
        ((one, other) for one in before for other in after),
        key=lambda pair: sorted((job.id for job in pair), reverse=True),
    )
    return next(
        (
            (one, other)
            for one, other in reversed(pairs)
            if is_comparable(differs_by(_facts(one, found), _facts(other, found), imported=imported))
        ),
        None,
    )


def _facts(job: JobRow, found: Mapping[str, EnvironmentRow]) -> Environment:
    environment = found.get(job.environment_digest or "")
    return {} if environment is None else environment.facts


def _hold_against(
    session: Session,
    run: RunRow,
    reading: Reading,
    before: JobRow,
    after: JobRow,
    *,
    found: Mapping[str, EnvironmentRow],
    place: int,
) -> None:
    """Store what changed between two jobs, once: what was found between their targets before and is still so is not found again."""
    if before.verdict is None or after.verdict is None or is_same_word(before.verdict, after.verdict):
        return
    sides = [_side(session, reading, job, found=found) for job in (before, after)]
    change = change_of(*sides, imported=_imported(reading, after.script_digest))
    if change is None:
        return
    pair = {"script": after.script_digest, "target": sides[1].label, "before_target": sides[0].label}
    last = queries.newest_of_pair(session, run.report_id, **pair)
    if last is not None and before.target != after.target and _is_known(last, change, sides):
        return
    row = _row(run, before, after, sides=sides, change=change, known=toolchains(session), place=place)
    session.add(row)
    session.flush()
    emit(session, run, "change.found", change=row.id)
    log.info("change_found", change=row.id, kind=row.kind)


def _side(session: Session, reading: Reading, job: JobRow, *, found: Mapping[str, EnvironmentRow]) -> Side:
    """A job judged anew: what only the rules have changed is no change."""
    attempts = [
        row
        for row in standing_queries.attempts_of_jobs(session, [job.id])
        if row.counted and row.state == "recorded"
    ]
    results = results_by_attempt(session, attempts)
    run = run_queries.run_of(session, job.run_id)
    target = target_of(job)
    script = next(script for script in reading.scripts if script.digest == job.script_digest)
    plan = None if run is None else repeat_plan_of(run)
    judgement = judge_job(reading.claim, script, target, [results[row.id] for row in attempts], plan=plan)
    return Side(
        verdict=judgement.verdict,
        matched=judgement.matched,
        of=judgement.of,
        environment=_facts(job, found),
        label=target.label(),
    )


def _is_known(last: ChangeRow, change: Change, sides: Sequence[Side]) -> bool:
    same = all(
        is_same_word(said, side.verdict) for said, side in zip((last.before, last.after), sides, strict=True)
    )
    return same and (last.kind, last.differs) == (change.kind, list(change.difference.confounders))


def _row(
    run: RunRow,
    before: JobRow,
    after: JobRow,
    *,
    sides: Sequence[Side],
    change: Change,
    known: Collection[str],
    place: int,
) -> ChangeRow:
    difference = change.difference
    axis = difference.versions[0] if difference.axis is not None else ("", ("", ""))
    # As old as the end of the run that showed it, also where a recorded run is taken in later; those of one run in their order.
    moment = run.finished_at or now()
    return ChangeRow(
        id=new_id(moment + timedelta(microseconds=place)),
        report_id=run.report_id,
        run_id=after.run_id,
        job_id=after.id,
        before_job_id=before.id,
        kind=change.kind,
        script_digest=after.script_digest,
        target=sides[1].label,
        before_target=sides[0].label,
        toolchain=base_of(target_of(after).toolchain, known),
        before_toolchain=base_of(target_of(before).toolchain, known),
        before=sides[0].verdict,
        after=sides[1].verdict,
        axis=axis[0],
        older=axis[1][0],
        newer=axis[1][1],
        differs=list(difference.confounders),
        missing=change.missing,
        created_at=moment,
    )
