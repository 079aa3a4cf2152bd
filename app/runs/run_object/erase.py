"""Erases what was submitted or printed. Digests, verdicts and measurements of our own machines stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.intake.reading import Ask, Reading, Script
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.claim_part import ClaimPart
from app.runs.run_object.document import AttemptPart, JobPart, ReportPart, RunDocument, ScriptPart
from app.runs.run_object.removal_part import without_warning
from worker.contract import Observation, Reason, Result

_DIGESTS = ("stdout_bytes", "stderr_bytes", "stdout_digest", "stderr_digest")
_MEASURED = (
    *("exit_status", "wall_seconds", "cpu_seconds", "peak_memory_bytes"),
    *("cards", "devices_opened", "card_waited_seconds", "card_seconds", "card_shared"),
)


def erased_result(result: Result) -> Result:
    """A result without anything that a script could have written."""
    seen = result.observation
    observation = Observation.model_validate({name: getattr(seen, name) for name in (*_DIGESTS, *_MEASURED)})
    return result.model_copy(
        update={"observation": observation, "reason": _code_only(result.reason), "start_reason": None}
    )


def _code_only(reason: Reason | None) -> Reason | None:
    return None if reason is None else reason.model_copy(update={"detail": ""})


def erased_reading(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored reading with only its scripts' roles and digests and the questions to the reporter."""
    scripts = [
        Script(role=script["role"], as_given="", script="", digest=script["digest"])
        for script in stored["scripts"]
    ]
    asks = tuple(Ask.model_validate(ask) for ask in stored["ask"])
    reading: dict[str, Any] = Reading(scripts=tuple(scripts), ask=asks).model_dump(mode="json")
    for script in reading["scripts"]:
        script["script"] = script["as_given"] = None
    return reading


def erased_document(run: RunDocument, *, moment: datetime) -> RunDocument:
    """The run object of a withdrawn report."""
    scripts = [
        ScriptPart(role=script.role, as_given="", script="", digest=script.digest)
        for script in run.report.scripts
    ]
    report = ReportPart(id=run.report.id, scripts=scripts, claim=ClaimPart())
    erased = run.model_copy(
        update={
            "report": report,
            "jobs": [_job(job) for job in run.jobs],
            "comparisons": [],
            "facets": [],
            "needs": [],
            "fixed": None,
            "removal": without_warning(run.removal),
            "withdrawn_at": moment,
        }
    )
    # These are added again when the run is shown.
    return erased.model_copy(
        update={"acts": [], "overruled": None, "held_back": [], "scope_differs": [], "outdated": None}
    )


def erased_bisection(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a bisection without the details of reasons, which may quote output."""
    document = BisectionDocument.model_validate(answer)
    points = [point.model_copy(update={"reason": _code_only(point.reason)}) for point in document.points]
    update = {"points": points, "removal": without_warning(document.removal)}
    return document.model_copy(update=update).model_dump(mode="json", by_alias=True)


def erased_points(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points of a series without the details of what each lacks: they may name imports of the script."""
    return [{**point, "lack": point["lack"] and {**point["lack"], "detail": ""}} for point in points]


def _job(job: JobPart) -> JobPart:
    attempts = [_attempt(attempt) for attempt in job.attempts]
    return job.model_copy(
        update={
            "reason": _code_only(job.reason),
            "checks": [],
            "facets": [],
            "varying_values": [],
            "attempts": attempts,
        }
    )


def _attempt(attempt: AttemptPart) -> AttemptPart:
    gone: dict[str, Any] = {
        "exception": None,
        "signal": None,
        "stdout": "",
        "stderr": "",
        "truncated": False,
        "devices_used": [],
        "flags_changed": {},
        "stacks": "",
        "values": [],
        "warnings": None,
    }
    state = attempt.state if attempt.outcome is not None or attempt.state == "lost" else "cancelled"
    return attempt.model_copy(update={**gone, "reason": _code_only(attempt.reason), "state": state})
