"""Finds similar reports, by the shape of the main script and its likeness to other scripts.

Nothing is merged.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from app.intake.code.likeness import NEARLY_EQUAL, WORTH_A_LOOK, likeness, marks_of, sketched_likeness
from app.storage.models import ReportRow, ScriptRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import reports as queries

MOST_SHOWN = 10
# The newest reports whose sketches share a piece; only these are compared.
MOST_ALIKE = 200
# Scripts that are compared word by word, likeliest first.
MOST_COMPARED = 20


class SameReport(BaseModel):
    """A report with an equal or nearly equal script."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    how: Literal["equal", "nearly_equal"]


def same_as(session: Session, report: ReportRow) -> list[SameReport]:
    """Reports with an equal or a nearly equal main script, newest first."""
    script = None if report.main_script is None else session.get(ScriptRow, report.main_script)
    return [] if script is None else _similar(session, script, report_id=report.id)


def same_as_script(session: Session, digest: str, script: str) -> list[SameReport]:
    """Reports whose main script is equal or nearly equal to one that is perhaps not stored, newest first."""
    marks = marks_of(script)
    row = ScriptRow(digest=digest, text=script, shape_digest=marks.shape_digest, sketch=marks.sketch)
    return _similar(session, row, report_id="")


def _similar(session: Session, script: ScriptRow, *, report_id: str) -> list[SameReport]:
    equal = queries.same_shape(session, report_id, script.digest, script.shape_digest, limit=MOST_SHOWN)
    similar = [SameReport(id=row.id, title=row.title, how="equal") for row in equal]
    similar += _nearly_equal(session, script, report_id=report_id, without={item.id for item in similar})
    return sorted(similar, key=lambda item: item.id, reverse=True)[:MOST_SHOWN]


def _nearly_equal(
    session: Session, script: ScriptRow, *, report_id: str, without: set[str]
) -> list[SameReport]:
    if script.sketch is None:
        return []
    looked: dict[str, float] = {}
    recent = []
    for row in queries.alike_sketches(
        session, script.sketch, shape_digest=script.shape_digest, limit=MOST_ALIKE
    ):
        if row.id != report_id and row.id not in without:
            looked.setdefault(row.digest, sketched_likeness(script.sketch, row.sketch or b""))
            recent.append(row)
    likely = sorted(
        (digest for digest, like in looked.items() if like >= WORTH_A_LOOK),
        key=lambda digest: -looked[digest],
    )[:MOST_COMPARED]
    texts = run_queries.scripts(session, likely)
    near = {digest for digest, text in texts.items() if likeness(script.text, text) >= NEARLY_EQUAL}
    return [
        SameReport(id=row.id, title=row.title, how="nearly_equal") for row in recent if row.digest in near
    ][:MOST_SHOWN]
