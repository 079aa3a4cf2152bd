"""Reads the history of a report on each target: its jobs, each with the first counted attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, cast, func, null, select, true, type_coerce
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, EnvironmentRow, JobRow, RunRow
from app.targets.planning.presets import BISECTION

# Characters of an attempt's output, from its end.
OUTPUT_CHARACTERS = 400
# Facts of the environment that are shown in the history.
FACTS = {
    "torch": "torch.version",
    "python": "python.version",
    "card": "gpu.0.model",
    "processor": "cpu.model",
}


_OF_BISECTION = func.coalesce(RunRow.preset == BISECTION, False).label("of_bisection")


def points_of_report(
    session: Session, report_id: str, *, packages: Sequence[str], limit: int, with_outputs: bool = True
) -> Sequence[Row[Any]]:
    """The newest judged jobs of a report, newest first.

    The column `package_N` is the version of the Nth package. Without outputs those columns are null: no
    stored observation is read, which takes longer than all else.
    """
    counted = (AttemptRow.job_id == JobRow.id, AttemptRow.counted, AttemptRow.state == "recorded")
    # The observation is selected once: each path into a large stored result would decompress all of it.
    first = (
        select(
            AttemptRow.id,
            AttemptRow.outcome,
            AttemptRow.environment_digest,
            AttemptRow.node,
            (AttemptRow.result["observation"] if with_outputs else cast(null(), JSONB)).label("seen"),
        )
        .where(*counted)
        .order_by(AttemptRow.id)
        .limit(1)
        .lateral("first")
    )
    seen = first.c.seen
    output = (
        first.c.id.label("first_id"),
        first.c.outcome,
        first.c.environment_digest,
        first.c.node,
        seen["stdout_digest"].astext.label("stdout_digest"),
        func.right(seen["stdout"].astext, OUTPUT_CHARACTERS).label("stdout"),
        func.length(seen["stdout"].astext).label("stdout_length"),
        func.left(seen[("exception", "type")].astext, OUTPUT_CHARACTERS).label("exception_type"),
        func.left(seen[("exception", "message")].astext, OUTPUT_CHARACTERS).label("exception_message"),
        seen["signal"].astext.label("signal"),
        select(func.count()).where(*counted).correlate(JobRow).scalar_subquery().label("attempts"),
    )
    environment = (
        select(EnvironmentRow.facts.op("||")(cast({}, JSONB)).label("facts"))
        .where(EnvironmentRow.digest == first.c.environment_digest)
        .offset(0)
        .lateral("environment")
    )
    facts = _fact_columns(type_coerce(environment.c.facts, JSONB), packages)
    job = (JobRow.id, JobRow.script_digest, JobRow.target, JobRow.verdict, JobRow.reason)
    run = (RunRow.id.label("run_id"), RunRow.created_at, RunRow.finished_at, RunRow.contributed_by)
    statement = (
        select(*job, *run, _OF_BISECTION, *output, *facts)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .outerjoin(first, true())
        .outerjoin(environment, true())
        .where(RunRow.report_id == report_id, JobRow.state == "judged")
        .order_by(RunRow.id.desc(), JobRow.position)
        .limit(limit)
    )
    return session.execute(statement).all()


def _fact_columns(facts: ColumnElement[Any], packages: Sequence[str]) -> list[ColumnElement[str]]:
    """The named facts of an environment, and the versions of these packages."""
    named = [facts[name].astext.label(label) for label, name in FACTS.items()]
    return named + [
        facts[f"package.{name}"].astext.label(f"package_{number}") for number, name in enumerate(packages)
    ]
