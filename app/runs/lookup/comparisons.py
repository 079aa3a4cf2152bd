"""A comparison of any two recorded attempts, with both attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.ids import PATTERN
from app.judging.versions import COMPARISON_RULES
from app.runs.lifecycle.comparisons import Side, content_of_pair, side_of
from app.runs.lookup.runs import AttemptDetails, attempt_details
from app.runs.run_object.comparison_parts import ComparisonContent


class ComparisonDetails(ComparisonContent):
    """A comparison with both attempts. `run` is null if the attempts belong to different runs."""

    model_config = ConfigDict(frozen=True)

    run: str | None
    same_script: bool
    rules: int
    created_at: datetime
    baseline: AttemptDetails
    candidate: AttemptDetails


def attempts_of(comparison_id: str) -> tuple[str, str]:
    """The ids of both attempts in the id of a comparison. Raises NotFoundError."""
    ids = comparison_id.split("-")
    if len(ids) != 2 or not all(PATTERN.fullmatch(one) for one in ids):
        raise NotFoundError(
            "There is no comparison with this id. An id has two ids of attempts: baseline-candidate."
        )
    return ids[0], ids[1]


def comparison(session: Session, comparison_id: str) -> ComparisonDetails:
    """A comparison by its id, `{baseline}-{candidate}`. Raises NotFoundError, ConflictError."""
    return compare_attempts(session, *attempts_of(comparison_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPair:
    """Two recorded attempts that can be compared."""

    baseline: AttemptDetails
    candidate: AttemptDetails
    sides: tuple[Side, Side]


def compare_attempts(session: Session, baseline: str, candidate: str) -> ComparisonDetails:
    """Compare two attempts, perhaps of two runs.

    Raises NotFoundError, ConflictError while one is not recorded.
    """
    return compare_pair(session, attempt_pair(session, baseline, candidate))


def attempt_pair(session: Session, baseline: str, candidate: str) -> AttemptPair:
    """The two attempts of a comparison. Raises NotFoundError, ConflictError while one is not recorded."""
    sides = side_of(session, baseline), side_of(session, candidate)
    one, other = (attempt_details(session, side.attempt.id) for side in sides)
    return AttemptPair(baseline=one, candidate=other, sides=sides)


def compare_pair(session: Session, pair: AttemptPair) -> ComparisonDetails:
    """The comparison of two attempts."""
    content, made_at = content_of_pair(session, *pair.sides)
    one, other = pair.baseline, pair.candidate
    return ComparisonDetails.model_validate(
        {
            **dict(content),
            "run": one.run if one.run == other.run else None,
            "same_script": one.script == other.script,
            "rules": COMPARISON_RULES,
            "created_at": made_at,
            "baseline": one,
            "candidate": other,
        }
    )
