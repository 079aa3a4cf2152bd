"""Compare any two attempts that were recorded: made by the rules of today, kept, and served from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, NotFoundError
from app.ids import PATTERN
from app.intake.reading import Reading, Script
from app.judging.comparison.comparison import Repeats, repeats_of
from app.judging.versions import COMPARISON_RULES
from app.runs.rows.facts import reading_of, report_of_run, results_by_attempt
from app.runs.run_object.comparison_parts import ComparisonContent, Shown, content_of
from app.runs.run_object.document import ComparisonPart
from app.runs.run_object.storable import storable
from app.states import OPEN_STATES
from app.storage.models import AttemptRow, JobRow
from app.storage.queries import comparisons as queries
from app.storage.queries import runs
from app.targets.target import target_of
from worker.contract import KIB

# Kept when a run finishes; of a larger run the others are made when somebody asks.
MOST_AT_FINISH = 60
# Of all four streams: larger ones are not compared line by line while a run is locked.
MOST_BYTES_AT_FINISH = 64 * KIB


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two, and the job whose repeats say what varies."""

    attempt: AttemptRow
    job: JobRow


def keep_comparisons(session: Session, parts: Iterable[ComparisonPart]) -> None:
    """Keep the comparisons of a run that finishes, in the transaction that finishes it."""
    repeats = cache(lambda job_id: queries.value_digests(session, job_id))
    read = cache(lambda run_id: _reading(session, run_id))
    moment = now()
    for part in list(parts)[:MOST_AT_FINISH]:
        one, other = (side_of(session, side) for side in (part.baseline, part.candidate))
        pair = _shown(session, one, other)
        if (
            sum(len(seen.stdout) + len(seen.stderr) for seen in (side.result.observation for side in pair))
            > MOST_BYTES_AT_FINISH
        ):
            continue
        known = repeats_of(repeats(one.job.id), repeats(other.job.id), same_job=one.job.id == other.job.id)
        content = content_of(*pair, known, _script(read(one.job.run_id), one.job))
        _keep(session, one, other, content, moment=moment)


def content_of_pair(session: Session, one: Side, other: Side) -> tuple[ComparisonContent, datetime]:
    """As kept; else made now, and kept if nothing that it rests on can change any more."""
    row = queries.comparison_of(session, one.attempt.id, other.attempt.id, rules=COMPARISON_RULES)
    if row is not None:
        return ComparisonContent.model_validate(row.content), row.created_at
    moment = now()
    content = content_of(
        *_shown(session, one, other), _repeats(session, one, other), _common_script(session, one, other)
    )
    settled = all(side.job.state not in OPEN_STATES for side in (one, other))
    if settled and queries.can_be_kept(session, (one.attempt.id, other.attempt.id)):
        _keep(session, one, other, content, moment=moment)
    return content, moment


def _keep(session: Session, one: Side, other: Side, content: ComparisonContent, *, moment: datetime) -> None:
    queries.keep_comparison(
        session,
        one.attempt.id,
        other.attempt.id,
        rules=COMPARISON_RULES,
        result=content.comparison.result,
        content=storable(content.model_dump(mode="json")),
        moment=moment,
    )


def side_of(session: Session, attempt_id: str) -> Side:
    """One side of a comparison. Raises NotFoundError, ConflictError while the attempt is not recorded."""
    attempt = session.get(AttemptRow, attempt_id) if PATTERN.fullmatch(attempt_id) else None
    job = None if attempt is None else session.get(JobRow, attempt.job_id)
    if attempt is None or job is None:
        raise NotFoundError("There is no attempt with this id.")
    run = runs.run_of(session, attempt.run_id)
    if run is not None and run.is_withdrawn:
        raise ConflictError(
            f"The report of the attempt {attempt_id} was withdrawn: what it showed is erased.",
            code="withdrawn",
        )
    if attempt.result is None:
        raise ConflictError(
            f"The attempt {attempt_id} is {attempt.state}: only what was recorded can be compared.",
            code="attempt_not_recorded",
        )
    return Side(attempt=attempt, job=job)


def _shown(session: Session, one: Side, other: Side) -> tuple[Shown, Shown]:
    results = results_by_attempt(session, (one.attempt, other.attempt))
    first, second = (
        Shown(
            side.attempt.id,
            side.job.script_digest,
            target_of(side.job),
            results[side.attempt.id],
        )
        for side in (one, other)
    )
    return first, second


def _repeats(session: Session, one: Side, other: Side) -> Repeats:
    digests = [queries.value_digests(session, side.job.id) for side in (one, other)]
    return repeats_of(digests[0], digests[1], same_job=one.job.id == other.job.id)


def _common_script(session: Session, one: Side, other: Side) -> Script | None:
    """The script of both, as it was read for the first."""
    return (
        _script(_reading(session, one.job.run_id), one.job)
        if one.job.script_digest == other.job.script_digest
        else None
    )


def _reading(session: Session, run_id: str) -> Reading | None:
    run = runs.run_of(session, run_id)
    return None if run is None else reading_of(session, report_of_run(session, run))


def _script(reading: Reading | None, job: JobRow) -> Script | None:
    return (
        None
        if reading is None
        else next((script for script in reading.scripts if script.digest == job.script_digest), None)
    )
