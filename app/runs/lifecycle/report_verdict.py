"""Stores on a report's row what lists show: its verdict, its attention group, and its last verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from sqlalchemy.orm import Session, sessionmaker

from app.intake.reading import ScriptRole
from app.judging.judgement import INCONCLUSIVE, JudgedCell, Scope, Verdict
from app.judging.report.attention import Attention, VersionRow, attention_of, attention_of_overruling
from app.judging.report.axis import Age, age_of
from app.judging.report.current_verdict import CurrentVerdict, RunVerdict, current_verdict
from app.judging.report.owner import Owner
from app.judging.verdict.run import judge_run
from app.runs.answers.report_answer import report_answer
from app.runs.rows.document_cache import cached_document
from app.runs.rows.facts import document_of, job_facts, reading_of, repeat_plan_of, results_by_attempt
from app.runs.run_object.assemble import JudgedRun, judge_cell
from app.runs.run_object.document import RunDocument
from app.runs.webhooks.news import announce_verdict
from app.storage.models import JobRow, ReportRow, RunRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import report_verdict as queries
from app.targets.planning.presets import BISECTION
from app.targets.target import target_of

# Reports read in one transaction by `store_all_report_verdicts`.
PAGE = 200


def store_report_verdict(session: Session, report_id: str, judged: JudgedRun | None = None) -> None:
    """Compute a report's current verdict and write it to its row. The caller commits.

    `judged` is the run that has just ended, if one has; its jobs are not judged again.
    """
    session.flush()
    report = run_queries.lock_report(session, report_id)
    if report is None:
        return
    if report.withdrawn_at is not None:
        # The verdict stays. Nobody can work on a withdrawn report, so it is in no group.
        report.attention = None
        session.flush()
        return
    runs = queries.ended_runs(session, report_id)
    current = standing_of(runs)
    run = next((run for run in runs if run.id == current.run), None)
    if judged is not None and (run is None or judged.document.id != run.id):
        judged = None
    jobs = queries.latest_judged_jobs(session, report_id, without=INCONCLUSIVE)
    lines = lines_of(session, report, jobs)
    scope = None
    if run is not None and run.verdict is Verdict.NOT_REPRODUCED:
        scope = _scope(session, report, run, jobs, judged)
    # A first verdict is no change: the end of its run says it.
    if report.overruled is None and (report.verdict is not None or len(runs) > 1):
        announce_verdict(session, report, before=report.verdict, after=current.verdict)
    report.verdict = current.verdict
    attention, report.owner = _attention(
        session, report=report, run=run, scope=scope, lines=lines, judged=judged
    )
    report.attention = None if report.closed_at is not None else attention
    report.verified_at = None if run is None else run.finished_at
    session.flush()


def standing_of(runs: Sequence[RunRow]) -> CurrentVerdict:
    """The current verdict of a report from its runs, newest first."""
    return current_verdict(
        [
            RunVerdict(
                run=run.id,
                verdict=run.verdict,
                contributed_by=run.contributed_by,
                is_bisection=run.preset == BISECTION,
            )
            for run in runs
            if run.verdict is not None
        ]
    )


def _attention(
    session: Session,
    *,
    report: ReportRow,
    run: RunRow | None,
    scope: Scope | None,
    lines: Sequence[VersionRow],
    judged: JudgedRun | None,
) -> tuple[Attention | None, Owner | None]:
    """The attention group, and the owner that the report's page names.

    Lists and the page must not contradict one another, so both rest on the same answer. The verdict of a
    maintainer comes before ours.
    """
    if run is None:
        overruled = report.overruled
        return (None if overruled is None else attention_of_overruling(overruled)), None
    document = _document(session, run) if judged is None else judged.document
    ran = any(job.verdict is Verdict.OBSERVED for job in document.jobs)
    by_cells = attention_of(run.verdict, scope, lines, ran=ran)
    answer = report_answer(session, document, report_id=report.id, attention=by_cells)
    owner = Owner.NOBODY if by_cells is Attention.FIXED else answer.standing_owner
    overruling = report.overruled or run.overruled
    if overruling is not None:
        return attention_of_overruling(overruling), owner
    # A maintainer's word that it is a bug goes before what our tests say of its cause.
    counted = owner if report.confirmed_at is None else Owner.DEFECT
    return attention_of(run.verdict, scope, lines, owner=counted, ran=ran), owner


def _document(session: Session, run: RunRow) -> RunDocument:
    return cached_document(session, run) or document_of(session, run)


def row_key(job: JobRow) -> tuple[str, str]:
    """The matrix row of a cell: its script, and the label of its target without the toolchain."""
    return job.script_digest, target_of(job).model_copy(update={"toolchain": ""}).label()


def lines_of(session: Session, report: ReportRow, jobs: Sequence[JobRow]) -> list[VersionRow]:
    """The verdicts of each matrix row, oldest version first. Controls are left out: they show no claim."""
    controls = {
        script["digest"] for script in report.reading["scripts"] if script["role"] == ScriptRole.CONTROL
    }
    return [
        VersionRow(tuple(job.verdict for job in row if job.verdict is not None))
        for row in rows_by_age(session, jobs, controls=controls).values()
    ]


def rows_by_age(
    session: Session, jobs: Sequence[JobRow], *, controls: set[str]
) -> dict[tuple[str, str], list[JobRow]]:
    """The jobs of each matrix row, oldest version first, without those of control scripts."""
    environments = run_queries.environments(
        session, {job.environment_digest for job in jobs if job.environment_digest}
    )

    def age(job: JobRow) -> Age:
        environment = environments.get(job.environment_digest or "")
        return age_of({} if environment is None else environment.facts, target_of(job).toolchain)

    no_controls = sorted((job for job in jobs if job.script_digest not in controls), key=row_key)
    return {key: sorted(row, key=age) for key, row in groupby(no_controls, key=row_key)}


def _scope(
    session: Session, report: ReportRow, run: RunRow, jobs: Sequence[JobRow], judged: JudgedRun | None
) -> Scope | None:
    """The scope of a "not reproduced", over all cells of the report.

    All runs count: a later run elsewhere does not undo that the reporter's environment was tried.
    """
    known = {} if judged is None else {cell.job_id: cell for cell in judged.cells}
    cells = {**known, **_judge(session, report, run, [job for job in jobs if job.id not in known])}
    return judge_run(reading_of(session, report), [cells[job.id] for job in jobs]).scope


def _judge(
    session: Session, report: ReportRow, run: RunRow, jobs: Sequence[JobRow]
) -> Mapping[str, JudgedCell]:
    if not jobs:
        return {}
    attempts = queries.attempts_of_jobs(session, [job.id for job in jobs])
    reading, plan = reading_of(session, report), repeat_plan_of(run)
    facts = job_facts(jobs, attempts, results_by_attempt(session, attempts))
    return {job.id: judge_cell(reading, job, plan=plan, finished=run.state == "finished") for job in facts}


def store_all_report_verdicts(factory: sessionmaker[Session]) -> int:
    """Store the current verdict of every report, each in its own transaction. Returns their number.

    For rows from before these columns existed. Running it twice changes nothing.
    """
    done, after = 0, ""
    while True:
        with factory.begin() as session:
            ids = queries.report_ids(session, after=after, limit=PAGE)
        if not ids:
            return done
        for report_id in ids:
            with factory.begin() as session:
                store_report_verdict(session, report_id)
        done, after = done + len(ids), ids[-1]
