"""Continues a bisection on the service.

Its state is computed again from all attempts, so a restart loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.ids import new_id
from app.runs.lifecycle.finish import reopen_job
from app.runs.rows.attempts import new_attempts, remove_attempt
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of, report_of_run, results_by_attempt
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.bisection_state import BisectionState, subject_of
from app.settings import ServiceSettings
from app.states import ENDED_ATTEMPT_STATES, HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, BisectionRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import changes
from app.storage.queries import runs as queries
from app.storage.queries.reports import report_verdict as verdict_queries
from app.targets.fleet import usable_toolchains
from app.targets.target import Target
from app.targets.versions.series import Point, Series
from worker.contract import AttemptKind, Reason, Result
from worker.contract.stored_message import read_stored


@dataclass(frozen=True, slots=True)
class _Trial:
    place: int
    attempts: Sequence[AttemptRow]

    def has_ended(self) -> bool:
        return all(attempt.state in ENDED_ATTEMPT_STATES for attempt in self.attempts)

    def counts(self) -> bool:
        """Whether the trial is evidence. A cancelled one is not."""
        return self.has_ended() and not any(attempt.state == "cancelled" for attempt in self.attempts)

    def ended_at(self) -> tuple[datetime, str]:
        last = max(self.attempts, key=lambda attempt: attempt.recorded_at or attempt.queued_at)
        return last.recorded_at or last.queued_at, last.id


def continue_bisection(session: Session, run: RunRow, *, settings: ServiceSettings) -> bool:
    """Queue the next trials of a bisection, or end it. The run must be locked.

    False if the run has no bisection. After the end, `finish_if_done` judges its points.
    """
    row = session.get(BisectionRow, run.id)
    if row is None:
        return False
    jobs = {job.position: job for job in queries.jobs_of_run(session, run.id, lock=True)}
    attempts = queries.attempts_of_run(session, run.id)
    reading = reading_of(session, report_of_run(session, run))
    toolchains = usable_toolchains(known_fleet(session, settings=settings))
    state = BisectionState(
        subject_of(reading),
        _series(row),
        error=row.error,
        most_attempts=row.most_attempts,
        toolchains=toolchains,
        earlier=_earlier_results(session, row),
    )
    trials = list(_trials(jobs, attempts, state.subject.attempts_of_trial))
    results = results_by_attempt(session, attempts)
    for trial in sorted(filter(_Trial.counts, trials), key=_Trial.ended_at):
        recorded = [
            results[attempt.id]
            for attempt in trial.attempts
            if attempt.state == "recorded" and attempt.id in results
        ]
        state.add_trial(trial.place, recorded)
    under_way = [trial.place for trial in trials if not trial.has_ended()]
    next_places = state.next_places(row.side_by_side, under_way=under_way)
    for place in next_places:
        job = jobs[place] = jobs.get(place) or _new_job(session, run, state, place)
        if job.state not in OPEN_STATES:
            reopen_job(job)
            changes.delete_of_jobs(session, [job.id])
        new_attempts(session, job, count=state.subject.attempts_of_trial)
    if next_places:
        outbox(session).wake_dispatcher()
    elif state.done or not under_way:
        _end(session, run, list(jobs.values()), attempts)
    row.answer = state.document(row.id, run.state).model_dump(mode="json", by_alias=True)
    return True


def _earlier_results(session: Session, row: BisectionRow) -> Mapping[int, Sequence[Result]]:
    """The results of earlier runs at the points that no node serves, by place."""
    jobs = {place: job for place, point in enumerate(row.points) if (job := point.get("earlier")) is not None}
    if not jobs:
        return {}
    attempts = [
        attempt
        for attempt in verdict_queries.attempts_of_jobs(session, set(jobs.values()))
        if attempt.counted and attempt.state == "recorded" and attempt.kind is AttemptKind.REPEAT
    ]
    results = results_by_attempt(session, attempts)
    return {
        place: [results[one.id] for one in attempts if one.job_id == job and one.id in results]
        for place, job in jobs.items()
    }


def _series(row: BisectionRow) -> Series:
    return Series(
        row.axis,
        tuple(
            Point(
                point["value"],
                Target.model_validate(point["target"]),
                None if point["lack"] is None else read_stored(Reason, point["lack"]),
            )
            for point in row.points
        ),
    )


def _trials(jobs: dict[int, JobRow], attempts: Sequence[AttemptRow], size: int) -> Iterator[_Trial]:
    """The trials of each point: `size` counted attempts each, in the order in which they were queued."""
    for place, job in jobs.items():
        own = [
            attempt
            for attempt in attempts
            if attempt.job_id == job.id
            and attempt.generation == job.generation
            and attempt.kind is AttemptKind.REPEAT
            and attempt.counted
        ]
        own.sort(key=lambda attempt: attempt.id)
        for begin in range(0, len(own), size):
            yield _Trial(place, own[begin : begin + size])


def _new_job(session: Session, run: RunRow, state: BisectionState, place: int) -> JobRow:
    job = JobRow(
        id=new_id(),
        run_id=run.id,
        position=place,
        script_digest=state.subject.script.digest,
        target=state.series.points[place].target.model_dump(mode="json"),
        state="queued",
        generation=1,
    )
    session.add(job)
    session.flush()
    return job


def _end(session: Session, run: RunRow, jobs: Sequence[JobRow], attempts: Sequence[AttemptRow]) -> None:
    """Remove the queued attempts.

    The jobs end when no attempt runs any more: it may still contradict the answer.
    """
    for attempt in attempts:
        if attempt.state == "queued":
            remove_attempt(session, attempt)
    if any(attempt.state in HELD_ATTEMPT_STATES for attempt in attempts):
        return
    for job in jobs:
        if job.state in OPEN_STATES:
            job.state = "judged"
            emit(session, run, "job.judged", job=job.id)
