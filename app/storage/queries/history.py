"""What became of a report on each target over time: its jobs, each with the first attempt that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, select, true
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, EnvironmentRow, JobRow, RunRow

# Of what an attempt printed, its end.
SHOWN = 400
# Facts of an environment that name a column or a row of the history.
FACTS = {"torch": "torch.version", "python": "python.version", "card": "gpu.0.model", "processor": "cpu.model"}


def points_of_report(session: Session, report_id: str, *, packages: Sequence[str], limit: int) -> Sequence[Row[Any]]:
    """The newest judged jobs of a report's runs, newest first, in one statement; `package_N` is the version of the Nth of the packages."""
    seen = AttemptRow.result["observation"]
    attempts = (
        select(
            AttemptRow.id,
            AttemptRow.outcome,
            AttemptRow.environment_digest,
            seen["stdout_digest"].astext.label("stdout_digest"),
            func.right(seen["stdout"].astext, SHOWN).label("stdout"),
            func.length(seen["stdout"].astext).label("stdout_length"),
            func.left(seen[("exception", "type")].astext, SHOWN).label("exception_type"),
            func.left(seen[("exception", "message")].astext, SHOWN).label("exception_message"),
            seen["signal"].astext.label("signal"),
            func.count().over().label("attempts"),
        )
        .where(AttemptRow.job_id == JobRow.id, AttemptRow.counted, AttemptRow.state == "recorded")
        .order_by(AttemptRow.id)
        .limit(1)
        .lateral("first")
    )
    facts = [EnvironmentRow.facts[name].astext.label(label) for label, name in FACTS.items()]
    facts += [EnvironmentRow.facts[f"package.{name}"].astext.label(f"package_{number}") for number, name in enumerate(packages)]
    job = (JobRow.id, JobRow.script_digest, JobRow.target, JobRow.verdict, JobRow.reason)
    run = (RunRow.id.label("run_id"), RunRow.created_at, RunRow.finished_at, RunRow.contributed_by)
    first = [column.label(f"first_{column.name}" if column.name == "id" else column.name) for column in attempts.c]
    statement = (
        select(*job, *run, *first, *facts)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .outerjoin(attempts, true())
        .outerjoin(EnvironmentRow, EnvironmentRow.digest == attempts.c.environment_digest)
        .where(RunRow.report_id == report_id, JobRow.state == "judged")
        .order_by(RunRow.id.desc(), JobRow.position)
        .limit(limit)
    )
    return session.execute(statement).all()
