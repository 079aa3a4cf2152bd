"""Rows of a bundle: its report, its jobs and its attempts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.errors import InputError
from app.ids import moment_of, new_id
from app.intake.reading import Reading
from app.runs.exchange.bundle import Bundle, BundledAttempt, BundledJob
from app.runs.lifecycle.doubt import rests_on
from app.runs.run_object.storable import split_result, to_storable
from app.runs.submission.report_intake import add_report
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.new_rows import NewRows
from app.storage.queries import keys
from app.storage.queries.reports import reports as queries
from app.storage.tallies import Tally, count
from worker.contract.text import storable_text

# The most reports with the same script whose texts are compared.
MOST_CANDIDATES = 50


def find_report(session: Session, bundle: Bundle, reading: Reading) -> ReportRow | None:
    """The stored report of a bundle: with the same text, else with the same source URL, or None."""
    if not reading.scripts:
        return None
    candidates = queries.having_main_script(session, reading.scripts[0].digest, limit=MOST_CANDIDATES)
    submitted = bundle.report
    text, address = storable_text(submitted.text), submitted.source_url or reading.source_url
    same = [
        row
        for row in candidates
        if (row.form, row.text, row.claim_text) == (submitted.form, text, submitted.claim)
    ]
    return next(
        iter([*same, *(row for row in candidates if address is not None and row.source_url == address)]), None
    )


def store_submitted(
    session: Session, bundle: Bundle, reading: Reading, *, moment: datetime | None = None
) -> ReportRow:
    """Store the report of a bundle. `moment` is the time of the report; it is now by default."""
    submitted = bundle.report
    new = NewRows()
    report = add_report(
        new,
        reading,
        form=submitted.form,
        text=storable_text(submitted.text),
        claim=submitted.claim,
        title=submitted.title,
        source_url=submitted.source_url,
        moment=moment,
    )
    new.write(session)
    return report


def check_scripts(bundle: Bundle, reading: Reading) -> None:
    """Check that the scripts of the bundle are the scripts of the reading. Raises InputError."""
    own_scripts = {script.digest for script in reading.scripts}
    if any(job.script not in own_scripts for job in bundle.jobs):
        raise InputError(
            "This samehere reads another script from the report than the one in the bundle. Run it again with"
            " this version (`samehere reproduce --bundle`), or name the report that the bundle belongs to.",
            code="read_differently",
            field="bundle",
        )


def store_jobs(session: Session, bundle: Bundle, run: RunRow, *, moment: datetime, own: bool) -> list[JobRow]:
    """Store all cells and attempts of a bundle.

    With `own` they keep their ids, and each cell gets the one environment that a run of our own has. Else
    they get new ids.
    """
    rows, attempts = list[JobRow](), list[AttemptRow]()
    for position, job in enumerate(bundle.jobs):
        row = JobRow(
            id=job.id if own else new_id(),
            run_id=run.id,
            position=position,
            script_digest=job.script,
            target=to_storable(job.target.model_dump(mode="json")),
            state=job.state,
            is_contrast=job.is_contrast,
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
    """The digest of the environment of a cell. All its counted attempts ran in the same one."""
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
    result, stored_result = attempt.result, None
    if result is not None:
        stored_result, environment = split_result(result)
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
        result=stored_result,
    )
    count(session, Tally.ENQUEUED)
    if result is not None:
        count(session, Tally.FINISHED)
        count(session, Tally.OUTCOMES, result.outcome)
    if own and result is not None:
        row.instance, row.cards = result.instance, rests_on(result.node, result.observation) or None
    return row
