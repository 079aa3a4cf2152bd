"""Finds changes when a run ends: its cells against older versions and against their earlier results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import groupby

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.intake.reading import Reading, ScriptRole
from app.judging.cause.removals import removal_of
from app.judging.judgement import INCONCLUSIVE, JobJudgement, Verdict
from app.judging.report.axis import differs_by
from app.judging.report.change import Change, ChangeKind, Side, agree, change_of, is_comparable
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import lost_passage
from app.runs.lifecycle.report_verdict import rows_by_age
from app.runs.rows.events import emit
from app.runs.rows.facts import claim_of_job, reading_of, repeat_plan_of, report_of_run, results_by_attempt
from app.runs.run_object.assemble import JudgedRun
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.removal_part import RemovalPart, removal_part
from app.storage.models import BisectionRow, ChangeRow, EnvironmentRow, JobRow, RunRow
from app.storage.queries import changes as queries
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import report_verdict as verdict_queries
from app.storage.queries.rerun import toolchains
from app.targets.packages import packages_of
from app.targets.planning.presets import BISECTION
from app.targets.target import target_of
from app.targets.versions.rerun import base_of
from worker.contract import AttemptKind, Environment

log = structlog.get_logger(__name__)


def find_changes(session: Session, run: RunRow, judged: JudgedRun) -> list[ChangeRow]:
    """Store the changes that a run shows, and return them.

    The rows of the run and its report must be locked and flushed.
    """
    jobs = [
        job
        for job in run_queries.jobs_of_run(session, run.id)
        if job.verdict is not None and job.verdict not in INCONCLUSIVE
    ]
    if run.contributed_by is not None or not jobs:
        return []
    bisected = _bisected_pair(session, run)
    known = queries.judged_jobs(
        session, run.report_id, scripts={job.script_digest for job in jobs}, without=INCONCLUSIVE
    )
    if len(known) == len(jobs) == 1 and bisected is None:
        return []
    sources = [*known, *(bisected or ())]
    comparison = _Comparison(
        session=session,
        run=run,
        reading=reading_of(session, report_of_run(session, run)),
        environments=run_queries.environments(
            session, {job.environment_digest for job in sources if job.environment_digest}
        ),
        judgements={cell.job_id: cell.judgement for cell in judged.cells if cell.judgement is not None},
    )
    rows = [
        _store_change(comparison, before, after, place=place)
        for place, (before, after) in enumerate(comparison.pairs(known))
    ]
    changes = [row for row in rows if row is not None]
    if bisected is not None and not _are_compared(bisected, known):
        row = _store_bisected(comparison, *bisected, place=len(rows))
        changes += [] if row is None else [row]
    return changes


def _bisected_pair(session: Session, run: RunRow) -> tuple[JobRow, JobRow] | None:
    """The last cell before the change that a bisection found, and the first one with it, older version first.

    None unless the bisection is as sure as it was asked to be.
    """
    row = session.get(BisectionRow, run.id) if run.preset == BISECTION else None
    if row is None:
        return None
    answer = BisectionDocument.model_validate(row.answer)
    is_sure = answer.one_axis and answer.probability is not None and answer.probability >= 1 - answer.error
    values = (answer.last_good or answer.last_bad, answer.first_bad or answer.first_good)
    places = [place for value in values for place, point in enumerate(answer.points) if point.value == value]
    jobs = {job.position: job for job in run_queries.jobs_of_run(session, run.id)}
    pair = [jobs[place] for place in places if place in jobs]
    return (pair[0], pair[1]) if is_sure and len(pair) == 2 else None


def _are_compared(pair: Sequence[JobRow], known: Sequence[JobRow]) -> bool:
    """Whether both cells have verdicts, so that they are compared like all others."""
    return {job.id for job in pair} <= {job.id for job in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """One run against the history of its report.

    `judgements` are by job id; each job is judged at most once.
    """

    session: Session
    run: RunRow
    reading: Reading
    environments: Mapping[str, EnvironmentRow]
    judgements: dict[str, JobJudgement] = field(default_factory=dict)

    def pairs(self, known: Sequence[JobRow]) -> Iterator[tuple[JobRow, JobRow]]:
        """The pairs of jobs to compare, older side first.

        Each version is paired with the next older one that it compares with, and each cell of this run with
        its past.
        """
        controls = {script.digest for script in self.reading.scripts if script.role is ScriptRole.CONTROL}
        cells = {key: list(jobs) for key, jobs in groupby(sorted(known, key=_cell), key=_cell)}
        newest = [max(jobs, key=_id) for jobs in cells.values()]
        for row in rows_by_age(self.session, newest, controls=controls).values():
            sides = [sorted(cells[_cell(job)], key=_id, reverse=True) for job in row]
            imports = self.imports_of(row[0].script_digest)
            for place, side in enumerate(sides):
                pair = self._with_nearest(side, sides[:place][::-1], imports)
                if pair is not None:
                    yield pair
                if side[0].run_id == self.run.id and len(side) > 1:
                    yield self._best(side[1:], side[:1], imports) or (side[1], side[0])

    def imports_of(self, digest: str) -> set[str]:
        """The packages that a script imports."""
        scripts = [script for script in self.reading.scripts if script.digest == digest]
        return {package for script in scripts for package in packages_of(script)}

    def _with_nearest(
        self, side: Sequence[JobRow], older: Sequence[Sequence[JobRow]], imports: set[str]
    ) -> tuple[JobRow, JobRow] | None:
        """A cell with the nearest older version that it compares with, else with the nearest one.

        None if this run has no part in the pair.
        """
        for other in older:
            pair = self._best(other, side, imports)
            if pair is not None:
                return pair if self.run.id in {other[0].run_id, side[0].run_id} else None
        if older and self.run.id in {older[0][0].run_id, side[0].run_id}:
            return older[0][0], side[0]
        return None

    def _best(
        self, before: Sequence[JobRow], after: Sequence[JobRow], imports: set[str]
    ) -> tuple[JobRow, JobRow] | None:
        """The newest jobs of two cells whose environments compare."""
        pairs = [(one, other) for one in before for other in after]
        pairs.sort(key=lambda pair: sorted((job.id for job in pair), reverse=True), reverse=True)
        for one, other in pairs:
            if is_comparable(differs_by(self.facts(one), self.facts(other), imported=imports)):
                return one, other
        return None

    def facts(self, job: JobRow) -> Environment:
        """The environment that a job ran in, empty if it is not known."""
        environment = self.environments.get(job.environment_digest or "")
        return {} if environment is None else environment.facts

    def side(self, job: JobRow) -> Side:
        """A job by the present rules: a verdict that only the rules have changed is no change."""
        judgement = self.judgements.get(job.id)
        if judgement is None:
            judgement = self.judgements[job.id] = self._judge(job)
        return Side(
            verdict=judgement.verdict,
            matched=judgement.matched,
            of=judgement.of,
            environment=self.facts(job),
            label=target_of(job).label(),
        )

    def _judge(self, job: JobRow) -> JobJudgement:
        """Judge a job of an earlier run."""
        rows = verdict_queries.attempts_of_jobs(self.session, [job.id])
        checks = [row for row in rows if row.kind is AttemptKind.PASSAGE]
        attempts = [row for row in rows if row.state == "recorded" and (row.counted or row in checks)]
        results = results_by_attempt(self.session, attempts)
        lost = [lost_passage(row.id) for row in checks if row.state == "lost"]
        run = run_queries.run_of(self.session, job.run_id)
        return judge_job(
            claim_of_job(self.reading, job),
            self.reading.script_of(job.script_digest),
            target_of(job),
            [*(results[row.id] for row in attempts), *lost],
            plan=None if run is None else repeat_plan_of(run),
        )

    def removal(self, before: JobRow, after: JobRow) -> RemovalPart | None:
        """The removal that the newer job met."""
        rows = [
            row
            for row in verdict_queries.attempts_of_jobs(self.session, [before.id, after.id])
            if row.state == "recorded" and row.counted
        ]
        results = results_by_attempt(self.session, rows)
        older, newer = (
            [results[row.id] for row in rows if row.job_id == job.id and row.id in results]
            for job in (before, after)
        )
        failed = next((result for result in newer if result.observation.exception is not None), None)
        if failed is None:
            return None
        script = self.reading.script_of(after.script_digest)
        return removal_part(removal_of(script, older[:1], failed, imported=packages_of(script)))


def _id(job: JobRow) -> str:
    return job.id


def _cell(job: JobRow) -> tuple[str, str]:
    return job.script_digest, target_of(job).label()


def _store_change(comparison: _Comparison, before: JobRow, after: JobRow, *, place: int) -> ChangeRow | None:
    """Store what changed between two jobs.

    A change that is stored between their targets and still holds is skipped.
    """
    if before.verdict is None or after.verdict is None or agree(before.verdict, after.verdict):
        return None
    sides = comparison.side(before), comparison.side(after)
    change = change_of(*sides, imported=comparison.imports_of(after.script_digest))
    if change is None:
        return None
    last = _last_of_pair(comparison, after, *sides)
    if last is not None and before.target != after.target and _is_known(last, change, sides):
        return None
    return _add(comparison, before, after, sides=sides, change=change, place=place)


def _add(
    comparison: _Comparison,
    before: JobRow,
    after: JobRow,
    *,
    sides: Sequence[Side],
    change: Change,
    place: int,
) -> ChangeRow:
    session, run = comparison.session, comparison.run
    row = _row(
        run,
        before,
        after,
        sides=sides,
        change=change,
        known=toolchains(session),
        place=place,
        removal=comparison.removal(before, after),
    )
    session.add(row)
    session.flush()
    emit(session, run, "change.found", change=row.id)
    log.info("change_found", change=row.id, kind=row.kind)
    return row


def _store_bisected(
    comparison: _Comparison, before: JobRow, after: JobRow, *, place: int
) -> ChangeRow | None:
    """Store the change that a bisection found.

    It stops when it is sure, often after fewer attempts than a "no" of one cell by itself needs. So a side
    without a verdict has that of the bisection: it was never seen there. A change that is known already, with
    more attempts perhaps, is not stored again.
    """
    older, newer = (
        replace(side, verdict=Verdict.NOT_REPRODUCED)
        if side.verdict in INCONCLUSIVE and side.of and not side.matched
        else side
        for side in (comparison.side(before), comparison.side(after))
    )
    change = change_of(older, newer, imported=comparison.imports_of(after.script_digest))
    if change is None or change.kind not in {ChangeKind.REGRESSED, ChangeKind.FIXED}:
        return None
    last = _last_of_pair(comparison, after, older, newer)
    if last is not None and _is_known(last, change, (older, newer)):
        return None
    return _add(comparison, before, after, sides=(older, newer), change=change, place=place)


def _last_of_pair(comparison: _Comparison, after: JobRow, older: Side, newer: Side) -> ChangeRow | None:
    return queries.newest_of_pair(
        comparison.session,
        comparison.run.report_id,
        script=after.script_digest,
        target=newer.label,
        before_target=older.label,
    )


def _is_known(last: ChangeRow, change: Change, sides: Sequence[Side]) -> bool:
    """Whether the last stored change has the same verdicts, kind and confounders."""
    same_verdicts = all(
        agree(stored, side.verdict) for stored, side in zip((last.before, last.after), sides, strict=True)
    )
    return same_verdicts and (last.kind, last.differs) == (change.kind, list(change.difference.confounders))


def _row(
    run: RunRow,
    before: JobRow,
    after: JobRow,
    *,
    sides: Sequence[Side],
    change: Change,
    known: Collection[str],
    place: int,
    removal: RemovalPart | None,
) -> ChangeRow:
    difference = change.difference
    axis = difference.versions[0] if difference.axis is not None else ("", ("", ""))
    # The change is as old as the end of its run, also for a recorded run that is replayed later. The place
    # keeps the changes of one run in order.
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
        removal=None if removal is None else removal.model_dump(mode="json"),
        created_at=moment,
    )
