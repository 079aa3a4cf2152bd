"""Reads and stores comparisons, and reads the digests of captured values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import cast, func, select
from sqlalchemy.dialects.postgresql import JSONPATH, insert
from sqlalchemy.orm import Session

from app.judging.judgement import ComparisonResult
from app.storage.models import AttemptRow, ComparisonRow, RunRow
from worker.contract import Outcome

# Trouble of ours shows nothing.
_EVIDENCE = tuple(outcome for outcome in Outcome if outcome.is_evidence)


def comparison_of(session: Session, baseline: str, candidate: str, *, rules: int) -> ComparisonRow | None:
    """The stored comparison of two attempts by these rules."""
    row = session.get(ComparisonRow, (baseline, candidate))
    return row if row is not None and row.rules == rules else None


def store_comparison(
    session: Session,
    baseline: str,
    candidate: str,
    *,
    rules: int,
    result: ComparisonResult,
    content: dict[str, Any],
    moment: datetime,
) -> None:
    """Store a comparison. It replaces one by older rules."""
    new = {"rules": rules, "result": result, "content": content, "created_at": moment}
    statement = insert(ComparisonRow).values(baseline=baseline, candidate=candidate, **new)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[ComparisonRow.baseline, ComparisonRow.candidate],
            set_=new,
            where=ComparisonRow.rules < rules,
        )
    )


def can_be_stored(session: Session, attempts: Iterable[str]) -> bool:
    """Whether the attempts can be locked at once. A reader must not wait or cause a deadlock."""
    ids = set(attempts)
    query = (
        select(AttemptRow.run_id)
        .where(AttemptRow.id.in_(ids))
        .with_for_update(key_share=True, read=True, skip_locked=True)
    )
    runs = session.scalars(query).all()
    # A run that was withdrawn meanwhile must not be stored again. While the attempts are locked, none can be
    # withdrawn.
    withdrawn = select(RunRow.id).where(RunRow.id.in_(runs), RunRow.withdrawn_record.is_not(None)).limit(1)
    return len(runs) == len(ids) and session.scalar(withdrawn) is None


def value_digests(session: Session, job_id: str) -> list[dict[str, str]]:
    """The digests of captured values by name, for each counted attempt of a job that is evidence."""
    names, digests = (
        func.jsonb_path_query_array(AttemptRow.result, cast(f"$.observation.values[*].{key}", JSONPATH))
        for key in ("name", "digest")
    )
    query = (
        select(names, digests)
        .where(
            AttemptRow.job_id == job_id,
            AttemptRow.counted,
            AttemptRow.state == "recorded",
            AttemptRow.outcome.in_(_EVIDENCE),
        )
        .order_by(AttemptRow.id)
    )
    rows = session.execute(query).all()
    return [{name: digest for name, digest in zip(*row, strict=True) if digest} for row in rows]
