"""The matrix of a report: the latest verdict of every script on every target that one of its runs had."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.runs.rows.by_id import get_report
from app.runs.rows.cells import Cells
from app.runs.run_object.assemble import target_part
from app.runs.run_object.document import TargetPart
from app.storage.queries.reports import reports as queries
from worker.contract import Reason


class MatrixCell(BaseModel):
    """A script on a target. `verdict` is null until a run has judged it.

    A contributed cell is shown next to our own cell. It never replaces it.
    """

    model_config = ConfigDict(frozen=True)

    script: str
    target: TargetPart
    label: str
    verdict: Verdict | None
    reason: Reason | None
    run: str
    job: str
    created_at: datetime
    contributed_by: str | None = None


class Matrix(BaseModel):
    """The cells, sorted by script and target."""

    model_config = ConfigDict(frozen=True)

    report: str
    scripts: list[str]
    cells: list[MatrixCell]


def matrix(session: Session, report_id: str) -> Matrix:
    """The matrix of a report. Raises NotFoundError."""
    report = get_report(session, report_id)
    scripts = [script["digest"] for script in report.reading["scripts"]]
    cells = []
    rows = queries.latest_jobs(session, report_id)
    read = Cells(session, (run.id for _, run in rows))
    for job, run in rows:
        target = read.target(run.id, job.target)
        cells.append(
            MatrixCell(
                script=job.script_digest,
                target=target_part(target),
                label=target.label(),
                verdict=job.verdict,
                reason=read.reason(run.id, job.reason),
                run=run.id,
                job=job.id,
                created_at=run.created_at,
                contributed_by=run.contributed_by,
            )
        )
    order = {digest: number for number, digest in enumerate(scripts)}
    cells.sort(key=lambda cell: (order.get(cell.script, len(order)), cell.label, cell.contributed_by or ""))
    return Matrix(report=report_id, scripts=list(dict.fromkeys(scripts)), cells=cells)
