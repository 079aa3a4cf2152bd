"""The history of a report: what each of its jobs showed, on which target, in which version and when."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.storage.queries import history as queries
from app.targets.target import Target
from worker.contract import Outcome, Reason

# Jobs of one report that are looked at; older ones are on the pages of their runs.
MOST_POINTS = 4_000
_IN_NAME = re.compile(r"(?:^|[^0-9A-Za-z])(\d+\.\d+(?:\.\d+)*)")


class Point(BaseModel):
    """One judged job. `seen` is hostile text; `version` is that of `package`, and `build` its local part, such as cu130."""

    model_config = ConfigDict(frozen=True)

    script: str
    target: Target
    package: str = "torch"
    version: str = ""
    build: str = ""
    at: datetime
    verdict: Verdict | None
    reason: Reason | None = None
    seen: str = ""
    outcome: Outcome | None = None
    stdout_digest: str = ""
    attempts: int = 0
    hardware: str = ""
    job: str
    run: str
    attempt: str | None = None
    contributed_by: str | None = None


def history(session: Session, report_id: str, *, limit: int = MOST_POINTS) -> list[Point]:
    """The judged jobs of a report, newest first."""
    return [_point(row) for row in queries.points_of_report(session, report_id, limit=limit)]


def _point(row: Row[Any]) -> Point:
    target = Target.model_validate(row.target)
    package, found = _version_of(row, target.toolchain)
    version, _, build = found.partition("+")
    card = row.card if target.gpus else None
    return Point(
        script=row.script_digest,
        target=target,
        package=package,
        version=version,
        build=build,
        at=row.finished_at or row.created_at,
        verdict=row.verdict,
        reason=None if row.reason is None else Reason.model_validate(row.reason),
        seen=_seen(row),
        outcome=row.outcome,
        stdout_digest=row.stdout_digest or "",
        attempts=row.attempts or 0,
        hardware=card or row.processor or "",
        job=row.id,
        run=row.run_id,
        attempt=row.first_id,
        contributed_by=row.contributed_by,
    )


def _version_of(row: Row[Any], toolchain: str) -> tuple[str, str]:
    """What a point is about: torch as found, else numpy as found, else what the toolchain is called."""
    if row.torch is None and row.numpy is not None:
        return "numpy", row.numpy
    return "numpy" if row.torch is None and toolchain.startswith("numpy") else "torch", row.torch or _version_in(toolchain)


def _version_in(toolchain: str) -> str:
    found = _IN_NAME.search(toolchain)
    return found[1] if found else ""


def _seen(row: Row[Any]) -> str:
    """How it ended, where it ended badly; else the end of what it printed."""
    if row.exception_type:
        return f"{row.exception_type}: {row.exception_message or ''}"
    if row.signal:
        return str(row.signal)
    text = row.stdout or ""
    if row.stdout_length and row.stdout_length > len(text):
        return "… " + text.partition("\n")[2]
    return text
