"""The job that speaks for a cell: a bisection tries it as seldom as it can, and replaces no fuller result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, or_

from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Verdict
from app.storage.models import JobRow, RunRow
from app.targets.planning.presets import BISECTION


def gives_way(cell: Sequence[Any]) -> ColumnElement[bool]:
    """Whether a job is of a bisection and does not contradict the newest other result of its cell.

    To sort by, before the age: false comes first. `cell` are the columns that are the same within a cell.
    """
    is_bisection = RunRow.preset == BISECTION
    says = case((JobRow.verdict.in_(list(SIGHTINGS)), Verdict.REPRODUCED.value), else_=JobRow.verdict)
    newest_other = func.max(case((func.coalesce(RunRow.preset, "") != BISECTION, RunRow.id)))
    agrees = newest_other.over(partition_by=[*cell, says]) == newest_other.over(partition_by=list(cell))
    return and_(
        func.coalesce(is_bisection, False),
        or_(JobRow.verdict.in_(list(INCONCLUSIVE)), func.coalesce(agrees, False)),
    )
