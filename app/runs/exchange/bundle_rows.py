"""The rows of a bundle's cells and attempts: under new ids where others made it, under its own where the run is ours."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.errors import InputError
from app.ids import moment_of, new_id
from app.intake.reading import Reading
from app.runs.exchange.bundle import Bundle, BundledAttempt, BundledJob
from app.runs.lifecycle.doubt import rests_on
from app.runs.run_object.storable import split_result, to_storable
from app.runs.submission.report_intake import store_report
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.queries import keys
from app.storage.queries.reports import reports as queries
from worker.contract.text import storable_text

# Of the reports with the same script so many are looked at for the same text.
MOST_ALIKE = 50


def report_like(session: Session, bundle: Bundle, reading: Reading) -> ReportRow | None:
    """The report that a bundle is about, if it is here: the one with the same text, else with the same address."""
    if not reading.scripts:
        return None
    alike = queries.having_main_script(session, reading.scripts[0].digest, limit=MOST_ALIKE)
    submitted = bundle.report
    text, address = storable_text(submitted.text), submitted.source_url or reading.source_url
    same = [
        row
        for row in alike
        if (row.form, row.text, row.claim_text) == (submitted.form, text, submitted.claim)
    ]
    return next(
        iter([*same, *(row for row in alike if address is not None and row.source_url == address)]), None
    )


def keep_submitted(
    session: Session, bundle: Bundle, reading: Reading, *, moment: datetime | None = None
) -> ReportRow:
    """Store the report of a bundle, as of now or of a moment in the past."""
    submitted = bundle.report
    return store_report(
        session,
        reading,
        form=submitted.form,
        text=storable_text(submitted.text),
        claim=submitted.claim,
        title=submitted.title,
        source_url=submitted.source_url,
        moment=moment,
    )


def check_scripts(bundle: Bundle, reading: Reading) -> None:
    """What was run must be what we read from the report. Raises InputError."""
    read_here = {script.digest for script in reading.scripts}
    if any(job.script not in read_here for job in bundle.jobs):
        raise InputError(
            "The script that was run is not one that this samehere reads from the report. Run it again with the same version as here"
            " (`samehere reproduce --bundle`), or name the report that it belongs to.",
            code="read_differently",
            field="bundle",
        )


def keep_jobs(session: Session, bundle: Bundle, run: RunRow, *, moment: datetime, own: bool) -> list[JobRow]:
    """Store all cells and attempts. As our own they keep their ids, and what only a run of ours has: one environment for each cell."""
    rows, attempts = list[JobRow](), list[AttemptRow]()
    for position, job in enumerate(bundle.jobs):
        row = JobRow(
            id=job.id if own else new_id(),
            run_id=run.id,
            position=position,
            script_digest=job.script,
            target=to_storable(job.target.model_dump(mode="json")),
            state=job.state,
            reason=None if job.reason is None else to_storable(job.reason.model_dump(mode="json")),
            generation=1,
            environment_digest=_environment(job) if own else None,
        )
        rows.append(row)
        attempts += [_attempt(session, attempt, row, moment=moment, own=own) for attempt in job.attempts]
    session.add_all(rows)
    session.flush()
    session.add_all(attempts)
    session.flush()
    return rows


def _environment(job: BundledJob) -> str | None:
    """In which a cell was judged: all that counts of it ran in one."""
    return next(
        (
            attempt.environment
            for attempt in reversed(job.attempts)
            if attempt.counted and attempt.environment
        ),
        None,
    )


def _attempt(
    session: Session, attempt: BundledAttempt, job: JobRow, *, moment: datetime, own: bool
) -> AttemptRow:
    result, kept = attempt.result, None
    if result is not None:
        kept, environment = split_result(result)
        if attempt.environment is not None:
            keys.store_environment(session, attempt.environment, environment, moment=moment)
    created = moment_of(attempt.id) if own else moment
    row = AttemptRow(
        id=attempt.id if own else new_id(),
        run_id=job.run_id,
        job_id=job.id,
        generation=1,
        kind=attempt.kind,
        start=attempt.start,
        state=attempt.state,
        counted=attempt.counted,
        lease_no=0,
        leases_spent=0,
        node=None if result is None else result.node,
        created_at=created,
        queued_at=created,
        recorded_at=None if result is None else moment,
        outcome=None if result is None else result.outcome,
        environment_digest=attempt.environment,
        result=kept,
    )
    if own and result is not None:
        row.instance, row.cards = result.instance, rests_on(result.node, result.observation) or None
    return row
