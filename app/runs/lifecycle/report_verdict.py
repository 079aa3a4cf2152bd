"""What stands of a report, kept on its row for lists: the verdict, the group that wants attention, and when that was last verified."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sqlalchemy.orm import Session, sessionmaker

from app.intake.reading import ScriptRole
from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Scope, Verdict
from app.judging.report.attention import Attention, Line, attention_of, attention_said
from app.judging.report.axis import Age, age_of
from app.judging.report.current_verdict import RunWord, standing
from app.runs.rows.document_cache import cached_document
from app.runs.rows.facts import document_of, job_facts, reading_of, results_by_attempt, run_facts
from app.runs.run_object.assemble import assemble
from app.storage.models import JobRow, ReportRow, RunRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import report_verdict as queries
from app.targets.target import target_of

AT_ONCE = 200


def keep_standing(session: Session, report_id: str) -> None:
    """Write down what stands now. The run whose end or reopening is the occasion must be flushed; the caller commits."""
    session.flush()
    report = run_queries.lock_report(session, report_id)
    if report is None:
        return
    if report.withdrawn_at is not None:
        # What was found stays; there is nothing left that anyone could attend to.
        report.attention = None
        session.flush()
        return
    runs = queries.ended_runs(session, report_id)
    words = [
        RunWord(run=run.id, verdict=run.verdict, contributed_by=run.contributed_by)
        for run in runs
        if run.verdict is not None
    ]
    stands = standing(words)
    run = next((run for run in runs if run.id == stands.run), None)
    jobs = queries.latest_words(session, report_id, without=INCONCLUSIVE)
    lines = lines_of(session, report, jobs)
    scope = (
        _scope(session, report, run, jobs)
        if run is not None and run.verdict is Verdict.NOT_REPRODUCED
        else None
    )
    report.verdict = stands.verdict
    report.attention = (
        None if report.closed_at is not None else _attention(session, report, run, scope, lines)
    )
    report.verified_at = None if run is None else run.finished_at
    session.flush()


def _attention(
    session: Session, report: ReportRow, run: RunRow | None, scope: Scope | None, lines: Sequence[Line]
) -> Attention | None:
    """The group, by a maintainer's word where there is one."""
    if run is None:
        return None if report.overruled is None else attention_said(report.overruled)
    word = report.overruled or run.overruled
    if word is not None:
        return attention_said(word)
    if run.verdict not in {*SIGHTINGS, Verdict.CANNOT_SHOW}:
        return attention_of(run.verdict, scope, lines)
    document = cached_document(session, run) or document_of(session, run)
    ran = any(job.verdict is Verdict.OBSERVED for job in document.jobs)
    return attention_of(run.verdict, scope, lines, defect=document.defect, ran=ran)


def line_of(job: JobRow) -> tuple[str, str]:
    """What a cell is apart from its toolchain: the script, and the label of the rest of the target."""
    return job.script_digest, target_of(job).model_copy(update={"toolchain": ""}).label()


def lines_of(session: Session, report: ReportRow, jobs: Sequence[JobRow]) -> list[Line]:
    """The verdicts over the versions, a line for each script on each device with each choice of settings; controls show no claim."""
    controls = {
        script["digest"] for script in report.reading["scripts"] if script["role"] == ScriptRole.CONTROL
    }
    return [
        Line(tuple(job.verdict for job in line if job.verdict is not None))
        for line in by_age(session, jobs, controls=controls).values()
    ]


def by_age(
    session: Session, jobs: Sequence[JobRow], *, controls: set[str]
) -> dict[tuple[str, str], list[JobRow]]:
    """The cells of each line, oldest version first."""
    found = run_queries.environments(
        session, {job.environment_digest for job in jobs if job.environment_digest}
    )
    told = [job for job in jobs if job.script_digest not in controls]

    def age(job: JobRow) -> Age:
        environment = found.get(job.environment_digest or "")
        return age_of({} if environment is None else environment.facts, target_of(job).toolchain)

    return {line: sorted(cells, key=age) for line, cells in groupby(sorted(told, key=line_of), key=line_of)}


def _scope(session: Session, report: ReportRow, run: RunRow, jobs: Sequence[JobRow]) -> Scope | None:
    """How far a "no" goes over all cells: a later run elsewhere does not undo that the place of the report was tried."""
    attempts = queries.attempts_of_jobs(session, [job.id for job in jobs])
    facts = job_facts(jobs, attempts, results_by_attempt(session, attempts))
    return assemble(run_facts(run, report), reading_of(session, report), facts).scope


def keep_all_standing(factory: sessionmaker[Session]) -> int:
    """Write down what stands of every report, a transaction each: for rows from before this was kept. Doing it twice changes nothing."""
    done, after = 0, ""
    while True:
        with factory.begin() as session:
            ids = queries.report_ids(session, after=after, limit=AT_ONCE)
        if not ids:
            return done
        for report_id in ids:
            with factory.begin() as session:
                keep_standing(session, report_id)
        done, after = done + len(ids), ids[-1]
