"""Take recorded runs in as this instance's own: at the times and on the machines of their recording, judged by the rules of today.

A folder of recordings has a folder for each machine, and in it a bundle for each run, compressed, with the run's id as its name. Whatever
follows from a run (verdict, changes, what stands, what is found) is made by what makes it when a run ends here.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from app.intake.read import read
from app.limits import NO_READ_LIMITS
from app.runs.exchange.bundle import Bundle, BundledAttempt
from app.runs.exchange.bundle_rows import check_scripts, keep_jobs, keep_submitted, report_like
from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
from app.runs.exchange.recorded_nodes import keep_nodes
from app.runs.lifecycle.finish import end_run
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries

ENDING = ".json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run, and the machine that it ran on."""

    machine: str
    bundle: Bundle

    @property
    def ended_at(self) -> datetime:
        """When the run ended, and with it what it showed was known."""
        return self.bundle.run.finished_at or self.bundle.run.created_at


def replay(session: Session, folder: Path) -> int:
    """Take in what a folder holds and is not here yet, in the order in which it ended; how many runs that were. The caller commits.

    Raises InputError for a bundle that can't be used.
    """
    new = sorted(_new(session, folder), key=lambda recording: (recording.ended_at, recording.bundle.run.id))
    for recording in new:
        _take_in(session, recording)
    keep_nodes(session, [(one.machine, one.bundle, one.ended_at) for one in new])
    session.flush()
    return len(new)


def _new(session: Session, folder: Path) -> Iterator[Recording]:
    for path in sorted(folder.glob(f"*/*{ENDING}")):
        if queries.run_of(session, path.name.removesuffix(ENDING)) is None:
            bundle = read_bundle(gzip.decompress(path.read_bytes()), limits=NO_LIMITS)
            yield Recording(machine=path.parent.name, bundle=_on(path.parent.name, bundle))


def _on(machine: str, bundle: Bundle) -> Bundle:
    """Each machine called itself `local`; beside others it has the name of its folder."""

    def named(attempt: BundledAttempt) -> BundledAttempt:
        result = attempt.result
        return (
            attempt
            if result is None
            else attempt.model_copy(update={"result": result.model_copy(update={"node": machine})})
        )

    jobs = [
        job.model_copy(update={"attempts": [named(attempt) for attempt in job.attempts]})
        for job in bundle.jobs
    ]
    return bundle.model_copy(update={"jobs": jobs})


def _take_in(session: Session, recording: Recording) -> None:
    bundle, moment = recording.bundle, recording.ended_at
    report = _report(session, bundle)
    run = RunRow(
        id=bundle.run.id,
        report_id=report.id,
        state="running",
        preset=bundle.run.plan.preset,
        repeats_at_most=bundle.run.plan.at_most,
        repeats_exact=bundle.run.plan.exact,
        last_event=0,
        summary="",
        created_at=bundle.run.created_at,
    )
    session.add(run)
    session.flush()
    emit(session, run, "run.created")
    keep_jobs(session, bundle, run, moment=moment, own=True)
    end_run(session, run, moment=moment)
    report.considered_at = moment


def _report(session: Session, bundle: Bundle) -> ReportRow:
    """The report of a run; with its first run it comes in, as of then."""
    submitted = bundle.report
    reading = read(
        submitted.text,
        form=submitted.form,
        claim=submitted.claim,
        title=submitted.title,
        limits=NO_READ_LIMITS,
    )
    known = report_like(session, bundle, reading)
    check_scripts(bundle, reading if known is None else reading_of(session, known))
    if known is not None:
        return known
    return keep_submitted(session, bundle, reading, moment=bundle.run.created_at)
