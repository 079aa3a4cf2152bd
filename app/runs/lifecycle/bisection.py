"""Go on with a bisection on the service: everything is told anew from its attempts, so that a restart forgets nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.ids import new_id
from app.intake.reading import Reading, Script
from app.judging.verdict.job import judge_job
from app.judging.versions import JUDGING_RULES
from app.runs.lifecycle.find_changes import forget_changes
from app.runs.rows.attempts import new_attempts, withdraw
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of, repeat_plan_of, report_of_run, results_by_attempt
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.bisection_state import Bisecting, subject_of
from app.settings import ServiceSettings
from app.states import ENDED_ATTEMPT_STATES, HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, BisectionRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.targets.fleet import usable_toolchains
from app.targets.target import Target, target_of
from app.targets.versions.series import Point, Series
from worker.contract import AttemptKind, Reason, Result


@dataclass(frozen=True, slots=True)
class _Trial:
    place: int
    attempts: Sequence[AttemptRow]

    def ended(self) -> bool:
        return all(attempt.state in ENDED_ATTEMPT_STATES for attempt in self.attempts)

    def counts(self) -> bool:
        """One that somebody stopped says nothing."""
        return self.ended() and not any(attempt.state == "cancelled" for attempt in self.attempts)

    def ended_at(self) -> tuple[datetime, str]:
        last = max(self.attempts, key=lambda attempt: attempt.recorded_at or attempt.queued_at)
        return last.recorded_at or last.queued_at, last.id


def drive(session: Session, run: RunRow, *, settings: ServiceSettings) -> bool:
    """Queue what is to be tried next, or end it. False where the run is no bisection. The run must be locked."""
    row = session.get(BisectionRow, run.id)
    if row is None:
        return False
    jobs = {job.position: job for job in queries.jobs_of_run(session, run.id, lock=True)}
    attempts = queries.attempts_of_run(session, run.id)
    reading = reading_of(session, report_of_run(session, run))
    toolchains = usable_toolchains(known_fleet(session, settings=settings))
    bisecting = Bisecting(
        subject_of(reading),
        _series(row),
        error=row.error,
        most_attempts=row.most_attempts,
        toolchains=toolchains,
    )
    trials = list(_trials(jobs, attempts, bisecting.subject.attempts_of_trial))
    results = results_by_attempt(session, attempts)
    for trial in sorted(filter(_Trial.counts, trials), key=_Trial.ended_at):
        recorded = [
            results[attempt.id]
            for attempt in trial.attempts
            if attempt.state == "recorded" and attempt.id in results
        ]
        bisecting.tell(trial.place, recorded)
    under_way = [trial.place for trial in trials if not trial.ended()]
    wanted = bisecting.wanted(row.side_by_side, under_way=under_way)
    for place in wanted:
        job = jobs[place] = jobs.get(place) or _new_job(session, run, bisecting, place)
        if job.state not in OPEN_STATES:
            job.state, job.verdict, job.rules = "queued", None, None
            forget_changes(session, [job.id])
        new_attempts(session, job, count=bisecting.subject.attempts_of_trial)
    if wanted:
        outbox(session).wake_dispatcher()
    elif bisecting.done or not under_way:
        _end(
            session,
            run,
            list(jobs.values()),
            attempts,
            reading=reading,
            script=bisecting.subject.script,
            results=results,
        )
    row.answer = bisecting.document(row.id, run.state).model_dump(mode="json", by_alias=True)
    return True


def _series(row: BisectionRow) -> Series:
    return Series(
        row.axis,
        tuple(
            Point(
                point["value"],
                Target.model_validate(point["target"]),
                None if point["lack"] is None else Reason.model_validate(point["lack"]),
            )
            for point in row.points
        ),
    )


def _trials(jobs: dict[int, JobRow], attempts: Sequence[AttemptRow], size: int) -> Iterator[_Trial]:
    """The attempts of each point in the order in which they were asked for; what no longer counts is left out."""
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


def _new_job(session: Session, run: RunRow, bisecting: Bisecting, place: int) -> JobRow:
    job = JobRow(
        id=new_id(),
        run_id=run.id,
        position=place,
        script_digest=bisecting.subject.script.digest,
        target=bisecting.series.points[place].target.model_dump(mode="json"),
        state="queued",
        generation=1,
    )
    session.add(job)
    session.flush()
    return job


def _end(
    session: Session,
    run: RunRow,
    jobs: Sequence[JobRow],
    attempts: Sequence[AttemptRow],
    *,
    reading: Reading,
    script: Script,
    results: Mapping[str, Result],
) -> None:
    """Take back what waits; judge every point once what runs has ended, since it may still speak against the answer."""
    for attempt in attempts:
        if attempt.state == "queued":
            withdraw(session, attempt)
    if any(attempt.state in HELD_ATTEMPT_STATES for attempt in attempts):
        return
    plan = repeat_plan_of(run)
    for job in jobs:
        if job.state in OPEN_STATES:
            own = [
                results[attempt.id]
                for attempt in attempts
                if attempt.job_id == job.id and attempt.counted and attempt.id in results
            ]
            job.state = "judged"
            # As the run object says it, of the claim as it was made.
            job.verdict = judge_job(reading.claim, script, target_of(job), own, plan=plan).verdict
            job.rules = JUDGING_RULES
            emit(session, run, "job.judged", job=job.id)
