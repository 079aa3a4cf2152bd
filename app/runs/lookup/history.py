"""The history of a report: the result of each of its jobs, with target, version and time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.runs.rows.cells import Cells
from app.runs.run_object.contributed_names import is_plain_version
from app.runs.run_object.document import ScriptPart
from app.storage.queries.reports import history as queries
from app.storage.queries.runs import environments
from app.targets.packages import packages_among
from app.targets.target import Target
from worker.contract import Environment, Outcome, Reason

# The most jobs of one report that are read. Older ones are on the pages of their runs.
MOST_POINTS = 4_000
# The most imported packages that can become the columns of the history.
MOST_PACKAGES = 8
_ALWAYS = ("torch", "numpy")


class Point(BaseModel):
    """One judged job. `seen` is untrusted text.

    `version` is the version of `package`, empty if unknown. `build` is its local part, such as cu130.
    `matched` of `of` attempts showed the claim; None if the counts were not read.
    """

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
    matched: int | None = None
    of: int | None = None
    hardware: str = ""
    job: str
    run: str
    attempt: str | None = None
    contributed_by: str | None = None
    # The environment and the node of that attempt, for pages.
    environment: str | None = Field(default=None, exclude=True)
    node: str | None = Field(default=None, exclude=True)
    # A bisection tries each target as seldom as it can.
    of_bisection: bool = False


def history(
    session: Session,
    report_id: str,
    *,
    scripts: Sequence[ScriptPart] = (),
    limit: int = MOST_POINTS,
    with_outputs: bool = True,
) -> list[Point]:
    """The judged jobs of a report, newest first, with their versions of the package that varies most.

    Pictures need no outputs. Without them, the points have no `seen` and no `stdout_digest`.
    """
    imported = sorted({name for script in scripts for name in packages_among(script.needs)}, key=_weight)[
        :MOST_PACKAGES
    ]
    packages = list(dict.fromkeys((*imported, *_ALWAYS)))
    rows = queries.points_of_report(
        session, report_id, packages=packages, limit=limit, with_outputs=with_outputs
    )
    cells = Cells(session, {row.run_id for row in rows})
    targets = [cells.target(row.run_id, row.target) for row in rows]
    versions_of_rows = [
        _versions(row, packages, target.toolchain) for row, target in zip(rows, targets, strict=True)
    ]
    package = axis_of(versions_of_rows, imported)
    return [
        _point(row, package, versions.get(package, ""), target, cells.reason(row.run_id, row.reason))
        for row, versions, target in zip(rows, versions_of_rows, targets, strict=True)
    ]


def environments_of_points(session: Session, points: Sequence[Point]) -> dict[str, Environment]:
    """The environments of these points, by digest."""
    digests = {point.environment for point in points if point.environment is not None}
    return {digest: row.facts for digest, row in environments(session, digests).items()}


def axis_of(versions_of_rows: Sequence[Mapping[str, str]], imported: Sequence[str]) -> str:
    """The package whose versions vary most among the imported ones; else among torch, numpy and Python."""
    counts = {
        name: len({versions[name] for versions in versions_of_rows if name in versions})
        for name in (*imported, *_ALWAYS, "python")
    }
    for names in (imported, (*_ALWAYS, "python")):
        most = max(names, key=lambda name: counts[name], default="")
        if counts.get(most, 0) > 1:
            return most
    return next((name for name in (*imported, *_ALWAYS) if counts[name]), "torch")


def _weight(package: str) -> tuple[int, str]:
    return (_ALWAYS.index(package) if package in _ALWAYS else len(_ALWAYS)), package


def _versions(row: Row[Any], packages: Sequence[str], toolchain: str) -> dict[str, str]:
    """The recorded version of each package, else the version in the name of the toolchain.

    A contributed one that could hold words is left out.
    """
    recorded_versions = {name: getattr(row, f"package_{number}") for number, name in enumerate(packages)} | {
        "python": row.python
    }
    recorded_versions["torch"] = row.torch or recorded_versions["torch"]
    versions = {name: version or _version_in(toolchain, name) for name, version in recorded_versions.items()}
    return {
        name: version
        for name, version in versions.items()
        if version and (row.contributed_by is None or is_plain_version(version))
    }


def _point(row: Row[Any], package: str, full_version: str, target: Target, reason: Reason | None) -> Point:
    version, _, build = full_version.partition("+")
    card = row.card if target.gpus else None
    return Point(
        script=row.script_digest,
        target=target,
        package=package,
        version=version,
        build=build,
        at=row.finished_at or row.created_at,
        verdict=row.verdict,
        reason=reason,
        seen=_result_text(row),
        outcome=row.outcome,
        stdout_digest=row.stdout_digest or "",
        attempts=row.attempts or 0,
        hardware=card or row.processor or "",
        job=row.id,
        run=row.run_id,
        attempt=row.first_id,
        contributed_by=row.contributed_by,
        environment=row.environment_digest,
        node=row.node,
        of_bisection=row.of_bisection,
    )


def _version_in(toolchain: str, package: str) -> str:
    match = re.match(rf"{re.escape(package)}-(\d+\.\d+(?:\.\d+)*)", toolchain)
    if match is None:
        return ""
    # Releases of these have three numbers. Recorded versions have them too, and equal ones share a column.
    is_short = package in _ALWAYS and match[1].count(".") == 1
    return f"{match[1]}.0" if is_short else match[1]


def _result_text(row: Row[Any]) -> str:
    """The exception or the signal of an attempt, else the end of its output."""
    if row.exception_type:
        return f"{row.exception_type}: {row.exception_message or ''}"
    if row.signal:
        return str(row.signal)
    text = row.stdout or ""
    if row.stdout_length and row.stdout_length > len(text):
        return "… " + text.partition("\n")[2]
    return text
