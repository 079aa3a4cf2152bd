"""Import recorded runs as our own runs, with their times and machines, judged by the current rules.

A folder of recordings has a folder for each machine. That has a compressed bundle for each run, rename_node
by its id. Verdicts, changes and search entries are made in the same way as at the end of any run.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from app.intake.read import read
from app.intake.text.corrected_environment import with_corrected_environment
from app.limits import NO_READ_LIMITS
from app.runs.exchange.bundle import Bundle, BundledAttempt
from app.runs.exchange.bundle_rows import check_scripts, find_report, store_jobs, store_submitted
from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
from app.runs.exchange.recorded_nodes import store_nodes
from app.runs.lifecycle.finish import end_run
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries

ENDING = ".json.gz"
# Titles of recorded reports, by the names under which they were recorded.
TITLES = "titles.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run, and the machine that it ran on."""

    machine: str
    bundle: Bundle

    @property
    def ended_at(self) -> datetime:
        """The time when the run ended."""
        return self.bundle.run.finished_at or self.bundle.run.created_at


def replay(session: Session, folder: Path) -> int:
    """Import the runs of a folder that are not stored yet, in the order in which they ended.

    The caller commits.

    Returns the number of imported runs. Raises InputError for a bundle that can't be used.
    """
    titles = _titles(folder)
    recordings = (_with_title(recording, titles) for recording in _new(session, folder))
    new = sorted(recordings, key=lambda recording: (recording.ended_at, recording.bundle.run.id))
    for recording in new:
        _import(session, recording)
    store_nodes(session, [(one.machine, one.bundle, one.ended_at) for one in new])
    session.flush()
    return len(new)


def _titles(folder: Path) -> Mapping[str, str]:
    """Titles for people, by the short names under which some reports were recorded."""
    path = folder / TITLES
    titles: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return titles


def _with_title(recording: Recording, titles: Mapping[str, str]) -> Recording:
    report = recording.bundle.report
    title = titles.get(report.title, report.title)
    bundle = recording.bundle.model_copy(update={"report": report.model_copy(update={"title": title})})
    return replace(recording, bundle=bundle)


def _new(session: Session, folder: Path) -> Iterator[Recording]:
    for path in sorted(folder.glob(f"*/*{ENDING}")):
        if queries.run_of(session, path.name.removesuffix(ENDING)) is None:
            bundle = read_bundle(gzip.decompress(path.read_bytes()), limits=NO_LIMITS)
            yield Recording(machine=path.parent.name, bundle=_on_machine(path.parent.name, bundle))


def _on_machine(machine: str, bundle: Bundle) -> Bundle:
    """The bundle with the machine's name in its results. In a recording every node is rename_node `local`."""

    def rename_node(attempt: BundledAttempt) -> BundledAttempt:
        result = attempt.result
        return (
            attempt
            if result is None
            else attempt.model_copy(update={"result": result.model_copy(update={"node": machine})})
        )

    jobs = [
        job.model_copy(update={"attempts": [rename_node(attempt) for attempt in job.attempts]})
        for job in bundle.jobs
    ]
    return bundle.model_copy(update={"jobs": jobs})


def _import(session: Session, recording: Recording) -> None:
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
    store_jobs(session, bundle, run, moment=moment, own=True)
    end_run(session, run, moment=moment)
    report.considered_at = moment


def _report(session: Session, bundle: Bundle) -> ReportRow:
    """The report of a run. It is stored with its first run, with the time of that run."""
    submitted = bundle.report
    reading = read(
        submitted.text,
        form=submitted.form,
        claim=submitted.claim,
        title=submitted.title,
        limits=NO_READ_LIMITS,
        ignore_needs=submitted.ignore_needs,
    )
    reading = with_corrected_environment(reading, list(submitted.environment.items()))
    report = find_report(session, bundle, reading)
    check_scripts(bundle, reading if report is None else reading_of(session, report))
    if report is not None:
        return report
    return store_submitted(session, bundle, reading, moment=bundle.run.created_at)
