"""The bundle: a run as one document, which another samehere can judge again.

It is made from the facts of a run. A bundle that is read is untrusted input.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field

from app.ids import PATTERN
from app.intake.reading import NeedKind, Reading
from app.intake.text.corrected_environment import MOST_CORRECTIONS
from app.judging.comparison.environments import environment_digest
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import json_digest, split_result, to_storable
from app.states import ENDED_ATTEMPT_STATES, OPEN_STATES, JobState, RunState
from app.targets.target import Target
from worker.contract import AttemptKind, Environment, Reason, Result, Start
from worker.contract.bounds import Name, SmallCount, Stream, Text

FORMAT = "samehere-bundle"
VERSION = 1
ABOUT = (
    "A run of samehere: a report, the targets on which its scripts ran, and all stored data of each attempt."
    " It contains the text of the report and the output of the scripts: share it only with people who may"
    " read them. An import reads the report and judges the attempts again;"
    " `said` is for people. The digest covers"
    " all other fields as JSON with sorted keys, without spaces, in ASCII."
)
# The names in `made_by` are only shown.
_Name = Annotated[str, Field(max_length=100)]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$", max_length=71)]
_Id = Annotated[str, Field(pattern=f"^{PATTERN.pattern}$", max_length=100)]
_NO_EVIDENCE = {"attempt_id", "lease_no", "instance", "kind", "start"}


class _Part(BaseModel):
    """A frozen part of a bundle. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BundledReport(_Part):
    """The report as it was submitted."""

    form: Literal["script", "report"]
    text: Stream
    claim: Stream | None = None
    title: str = Field(default="", max_length=2000)
    source_url: str | None = Field(default=None, max_length=2000)
    # Absent in most bundles, so that older versions can read them.
    ignore_needs: Annotated[list[NeedKind], Field(max_length=20, exclude_if=lambda kinds: not kinds)] = Field(
        default_factory=list
    )
    environment: Annotated[
        dict[Name, Text], Field(max_length=MOST_CORRECTIONS, exclude_if=lambda fields: not fields)
    ] = Field(default_factory=dict)


class MadeBy(_Part):
    """The public names of the nodes, the version of samehere, and for a contributed run its contributor."""

    samehere: _Name
    nodes: list[_Name] = Field(max_length=1000)
    contributed_by: str | None = Field(default=None, max_length=300)


class BundledPlan(_Part):
    """The preset of a run and its repeats for each cell."""

    preset: str | None = Field(default=None, max_length=100)
    at_most: SmallCount = Field(ge=1)
    exact: bool


class BundledRun(_Part):
    id: _Id
    state: RunState
    created_at: datetime
    finished_at: datetime | None = None
    plan: BundledPlan


class BundledAttempt(_Part):
    id: _Id
    kind: AttemptKind
    start: Start
    state: Literal["recorded", "lost", "cancelled"]
    counted: bool
    # The result has no environment here. `environments` of the bundle has each environment once.
    result: Result | None = None
    environment: _Digest | None = None


class BundledJob(_Part):
    id: _Id
    script: _Digest
    target: Target
    state: JobState
    reason: Reason | None = None
    is_contrast: bool = Field(
        default=False,
        exclude_if=lambda is_contrast: not is_contrast,
        description="true for a cell that was added after the verdict, to look for a contrast",
    )
    attempts: Annotated[list[BundledAttempt], Field(max_length=10_000), FailFast()] = Field(
        default_factory=list
    )


class OriginVerdict(_Part):
    """The verdict of the exporting samehere, for people who open the file. An import does not read it."""

    verdict: Name | None = None
    summary: Text = ""


class Bundle(_Part):
    """The whole document."""

    format: Literal["samehere-bundle"] = "samehere-bundle"
    version: Literal[1] = 1
    about: Text = ABOUT
    made_by: MadeBy
    report: BundledReport
    run: BundledRun
    said: OriginVerdict = Field(default_factory=OriginVerdict)
    scripts: Annotated[dict[_Digest, Stream], Field(max_length=10_000)]
    environments: Annotated[dict[_Digest, Environment], Field(max_length=10_000)]
    jobs: Annotated[list[BundledJob], Field(max_length=10_000), FailFast()]
    digest: _Digest


def own_version() -> str:
    """The version of this samehere."""
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"


def bundle_of(
    run: RunFacts,
    reading: Reading,
    jobs: Sequence[JobFacts],
    submitted: BundledReport,
    *,
    origin: OriginVerdict,
    contributed_by: str | None = None,
) -> dict[str, Any]:
    """The bundle of a run that ended, as JSON data with its digest."""
    environments: dict[str, Environment] = {}
    # A cell that looks for a contrast and has not ended belongs to no bundle.
    jobs = [job for job in jobs if not (job.is_contrast and job.state in OPEN_STATES)]
    cells = [_job(job, environments) for job in jobs]
    used = {job.script for job in jobs}
    nodes = {attempt.result.node for job in jobs for attempt in job.attempts if attempt.result is not None}
    repeats = run.repeats
    data = {
        "format": FORMAT,
        "version": VERSION,
        "about": ABOUT,
        "made_by": {"samehere": own_version(), "nodes": sorted(nodes), "contributed_by": contributed_by},
        "report": submitted.model_dump(mode="json"),
        "run": {
            "id": run.id,
            "state": run.state,
            "created_at": run.created_at.isoformat(),
            "finished_at": None if run.finished_at is None else run.finished_at.isoformat(),
            "plan": {
                "preset": run.preset,
                "at_most": 1 if repeats is None else repeats.at_most,
                "exact": bool(repeats and repeats.exact),
            },
        },
        "said": origin.model_dump(mode="json"),
        "scripts": {script.digest: script.script for script in reading.scripts if script.digest in used},
        "environments": environments,
        "jobs": cells,
    }
    # The digest must cover the data that is sent, so the data goes through JSON first.
    plain: dict[str, Any] = json.loads(json.dumps(to_storable(data), allow_nan=False))
    return {**plain, "digest": json_digest(plain)}


def _job(job: JobFacts, environments: dict[str, Environment]) -> dict[str, Any]:
    ended = [attempt for attempt in job.attempts if attempt.state in ENDED_ATTEMPT_STATES]
    return {
        "id": job.id,
        "script": job.script,
        "target": job.target.model_dump(mode="json"),
        "state": job.state,
        "reason": None if job.reason is None else job.reason.model_dump(mode="json"),
        **({"is_contrast": True} if job.is_contrast else {}),
        "attempts": [_attempt(attempt, environments) for attempt in ended],
    }


def _attempt(attempt: AttemptFacts, environments: dict[str, Environment]) -> dict[str, Any]:
    result = digest = None
    if attempt.result is not None:
        result, environment = split_result(attempt.result)
        if environment:
            digest = environment_digest(environment)
            environments[digest] = environment
    facts = {name: getattr(attempt, name) for name in ("id", "kind", "start", "state", "counted")}
    return {**facts, "result": result, "environment": digest}


def evidence_digest(bundle: Bundle) -> str:
    """The digest of the evidence. It does not depend on ids or on the exporting samehere.

    A cell that looks for a contrast is no part of it: a bundle may have been made before it ended.
    """
    jobs = sorted(
        json_digest(
            {
                "script": job.script,
                "target": job.target.model_dump(mode="json"),
                "reason": None if job.reason is None else job.reason.model_dump(mode="json"),
                "attempts": sorted(_evidence(attempt) for attempt in job.attempts),
            }
        )
        for job in bundle.jobs
        if not job.is_contrast
    )
    return json_digest(
        {"report": bundle.report.model_dump(mode="json", include={"form", "text", "claim"}), "jobs": jobs}
    )


def _evidence(attempt: BundledAttempt) -> str:
    facts = {name: getattr(attempt, name) for name in ("kind", "start", "state", "counted", "environment")}
    result = (
        None
        if attempt.result is None
        else to_storable(attempt.result.model_dump(mode="json", exclude={*_NO_EVIDENCE, "environment"}))
    )
    return json_digest({**facts, "result": result})
