"""The history of a report: what each of its jobs showed, on which target, in which version and when."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.runs.run_object.document import ScriptPart
from app.storage.queries.reports import history as queries
from app.targets.packages import packages_among
from app.targets.target import Target, target_of
from worker.contract import Outcome, Reason

# Jobs of one report that are looked at; older ones are on the pages of their runs.
MOST_POINTS = 4_000
# Of what a script imports, so many packages may be what the columns are about.
MOST_PACKAGES = 8
_ALWAYS = ("torch", "numpy")


class Point(BaseModel):
    """One judged job. `seen` is hostile text; `version` is that of `package` where it is known, `build` its local part, such as cu130."""

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


def history(
    session: Session, report_id: str, *, scripts: Sequence[ScriptPart] = (), limit: int = MOST_POINTS
) -> list[Point]:
    """The judged jobs of a report, newest first, along the package whose versions they are about."""
    imported = sorted({name for script in scripts for name in packages_among(script.needs)}, key=_weight)[
        :MOST_PACKAGES
    ]
    packages = list(dict.fromkeys((*imported, *_ALWAYS)))
    rows = queries.points_of_report(session, report_id, packages=packages, limit=limit)
    found = [_versions(row, packages) for row in rows]
    package = axis_of(found, imported)
    return [
        _point(row, package, versions.get(package, "")) for row, versions in zip(rows, found, strict=True)
    ]


def axis_of(found: Sequence[Mapping[str, str]], imported: Sequence[str]) -> str:
    """What the columns are versions of: what was varied most of what the script imports, else of what always counts."""
    tried = {
        name: len({versions[name] for versions in found if name in versions})
        for name in (*imported, *_ALWAYS, "python")
    }
    for names in (imported, (*_ALWAYS, "python")):
        most = max(names, key=lambda name: tried[name], default="")
        if tried.get(most, 0) > 1:
            return most
    return next((name for name in (*imported, *_ALWAYS) if tried[name]), "torch")


def _weight(package: str) -> tuple[int, str]:
    return (_ALWAYS.index(package) if package in _ALWAYS else len(_ALWAYS)), package


def _versions(row: Row[Any], packages: Sequence[str]) -> dict[str, str]:
    """The version of each package, as found; where nothing was found, as the toolchain's name has it."""
    toolchain = row.target["toolchain"]
    found = {name: getattr(row, f"package_{number}") for number, name in enumerate(packages)} | {
        "python": row.python
    }
    found["torch"] = row.torch or found["torch"]
    return {name: version for name in found if (version := found[name] or _version_in(toolchain, name))}


def _point(row: Row[Any], package: str, found: str) -> Point:
    version, _, build = found.partition("+")
    target = target_of(row)
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


def _version_in(toolchain: str, package: str) -> str:
    found = re.match(rf"{re.escape(package)}-(\d+\.\d+(?:\.\d+)*)", toolchain)
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
