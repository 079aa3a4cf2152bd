"""Reports that are already here when somebody submits the same script, with what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.runs.rows.similar_reports import same_as_script
from app.states import Disposition
from app.storage.queries.reports import reports as queries

MOST_KNOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownReport:
    """A report with the same script. `verdict` is that of a maintainer, if there is one, else measured."""

    id: str
    title: str
    how: Literal["equal", "nearly_equal"]
    verdict: Verdict | None
    is_overruled: bool
    disposition: Disposition | None
    is_closed: bool
    is_running: bool
    # The newest run of our own nodes that has ended; None without one.
    run: str | None
    attention: Attention | None
    created_at: datetime


def known_reports(session: Session, digest: str, script: str) -> list[KnownReport]:
    """The newest reports whose main script is equal or nearly equal to this one, equal ones first."""
    similar = sorted(same_as_script(session, digest, script), key=lambda one: one.how != "equal")
    similar = similar[:MOST_KNOWN]
    rows = {row.id: row for row in queries.reports_of_ids(session, [one.id for one in similar])}
    latest = queries.latest_runs(session, rows)
    known = []
    for one in similar:
        row, run = rows.get(one.id), latest.get(one.id)
        if row is None or row.withdrawn_at is not None or row.is_canary:
            continue
        known.append(
            KnownReport(
                id=row.id,
                title=row.title,
                how=one.how,
                verdict=row.overruled or row.verdict,
                is_overruled=row.overruled is not None,
                disposition=row.disposition,
                is_closed=row.closed_at is not None,
                is_running=run is not None and run.state not in {None, "finished", "cancelled"},
                run=run.id if run is not None and run.state == "finished" else None,
                attention=row.attention,
                created_at=row.created_at,
            )
        )
    return known
