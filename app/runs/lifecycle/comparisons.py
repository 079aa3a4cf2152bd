"""Compares two recorded attempts and stores the comparison. A comparison by older rules is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, NotFoundError
from app.ids import PATTERN
from app.intake.reading import Script
from app.judging.comparison.comparison import Repeats, repeats_of
from app.judging.versions import COMPARISON_RULES
from app.runs.rows.facts import reading_of, report_of_run, results_by_attempt
from app.runs.run_object.comparison_parts import (
    ComparedPair,
    ComparisonContent,
    EvidenceAttempt,
    compare_pair,
    content_of,
)
from app.runs.run_object.storable import to_storable
from app.states import OPEN_STATES
from app.storage.models import AttemptRow, JobRow
from app.storage.queries import comparisons as queries
from app.storage.queries import runs
from app.targets.target import target_of
from worker.contract import KIB

# The end of a run stores this many comparisons. The others are stored when somebody looks at them.
MOST_AT_FINISH = 60
# All four streams of a pair together. Larger ones take too long to diff while the run is locked.
MOST_BYTES_AT_FINISH = 64 * KIB


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two attempts, with its job. The repeats of the job show which values vary."""

    attempt: AttemptRow
    job: JobRow


def store_comparisons(session: Session, pairs: Sequence[ComparedPair]) -> None:
    """Store the comparisons of a run that ends. Runs in the transaction that ends it."""
    moment = now()
    for pair in pairs[:MOST_AT_FINISH]:
        if _stream_characters(pair) <= MOST_BYTES_AT_FINISH:
            _store(session, content_of(pair), moment=moment)


def _stream_characters(pair: ComparedPair) -> int:
    observations = (side.result.observation for side in (pair.baseline, pair.candidate))
    return sum(len(observation.stdout) + len(observation.stderr) for observation in observations)


def content_of_pair(session: Session, one: Side, other: Side) -> tuple[ComparisonContent, datetime]:
    """The comparison of two attempts, and when it was computed.

    A new comparison is stored if both jobs have ended: nothing that it rests on can change any more.
    """
    row = queries.comparison_of(session, one.attempt.id, other.attempt.id, rules=COMPARISON_RULES)
    if row is not None:
        return ComparisonContent.model_validate(row.content), row.created_at
    moment = now()
    baseline, candidate = _evidence_of(session, one, other)
    pair = compare_pair(
        baseline, candidate, _repeats(session, one, other), _common_script(session, one, other)
    )
    content = content_of(pair)
    have_ended = all(side.job.state not in OPEN_STATES for side in (one, other))
    if have_ended and queries.can_be_stored(session, (one.attempt.id, other.attempt.id)):
        _store(session, content, moment=moment)
    return content, moment


def _store(session: Session, content: ComparisonContent, *, moment: datetime) -> None:
    queries.store_comparison(
        session,
        content.comparison.baseline,
        content.comparison.candidate,
        rules=COMPARISON_RULES,
        result=content.comparison.result,
        content=to_storable(content.model_dump(mode="json")),
        moment=moment,
    )


def side_of(session: Session, attempt_id: str) -> Side:
    """One side of a comparison.

    Raises NotFoundError; ConflictError if the attempt has no result or was erased.
    """
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
            f"The attempt {attempt_id} is {attempt.state}: only recorded attempts can be compared.",
            code="attempt_not_recorded",
        )
    return Side(attempt=attempt, job=job)


def _evidence_of(session: Session, one: Side, other: Side) -> tuple[EvidenceAttempt, EvidenceAttempt]:
    results = results_by_attempt(session, (one.attempt, other.attempt))
    first, second = (
        EvidenceAttempt(
            side.attempt.id, side.job.script_digest, target_of(side.job), results[side.attempt.id]
        )
        for side in (one, other)
    )
    return first, second


def _repeats(session: Session, one: Side, other: Side) -> Repeats:
    digests = [queries.value_digests(session, side.job.id) for side in (one, other)]
    return repeats_of(digests[0], digests[1], same_job=one.job.id == other.job.id)


def _common_script(session: Session, one: Side, other: Side) -> Script | None:
    """The script of both sides, as it was read for the first one. None if they ran different scripts."""
    digest = one.job.script_digest
    run = runs.run_of(session, one.job.run_id)
    if run is None or digest != other.job.script_digest:
        return None
    reading = reading_of(session, report_of_run(session, run))
    return next((script for script in reading.scripts if script.digest == digest), None)
