"""A run as one document that explains itself, to be judged elsewhere: made from the facts of a run, and read back as from a stranger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.ids import PATTERN
from app.intake.reading import Reading
from app.judging.comparison.environments import environment_digest
from app.runs.run_object.assemble import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import json_digest, split_result, to_storable
from app.states import ENDED_ATTEMPT_STATES, JobState, RunState
from app.targets.target import Target
from worker.contract import AttemptKind, Environment, Reason, Result, Start

FORMAT = "samehere-bundle"
VERSION = 1
ABOUT = (
    "A run of samehere: a report, where and how its script was run, and everything that was kept of each attempt. It holds the text of the"
    " report and what the script printed: give it to no one who may not read them. Whoever imports it reads the report and judges the"
    " attempts anew; `said` is for people. The digest is over all other fields as JSON with sorted keys, no spaces, ASCII only."
)
# As NODE_NAME; of `made_by`, which is only shown.
_Name = Annotated[str, Field(max_length=100)]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
_Id = Annotated[str, Field(pattern=f"^{PATTERN.pattern}$")]
_NO_EVIDENCE = {"attempt_id", "lease_no", "instance", "kind", "start"}


class _Part(BaseModel):
    """Immutable and closed: what this version does not know it does not take."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Submitted(_Part):
    """What was submitted, as it was."""

    form: Literal["script", "report"]
    text: str
    claim: str | None = None
    title: str = Field(default="", max_length=2000)
    source_url: str | None = Field(default=None, max_length=2000)


class MadeBy(_Part):
    """The public names of the nodes that ran it, and the version of samehere that wrote this down."""

    samehere: _Name
    nodes: list[_Name] = Field(max_length=1000)
    # Where who wrote it down had it from someone else.
    contributed_by: str | None = Field(default=None, max_length=300)


class Planned(_Part):
    """How often a cell was to be run; the cells are the jobs."""

    preset: str | None = Field(default=None, max_length=100)
    at_most: int = Field(ge=1)
    exact: bool


class BundledRun(_Part):
    id: _Id
    state: RunState
    created_at: datetime
    finished_at: datetime | None = None
    plan: Planned


class BundledAttempt(_Part):
    id: _Id
    kind: AttemptKind
    start: Start
    state: Literal["recorded", "lost", "cancelled"]
    counted: bool
    # The result without its environment, which is kept once, by digest.
    result: Result | None = None
    environment: _Digest | None = None


class BundledJob(_Part):
    id: _Id
    script: _Digest
    target: Target
    state: JobState
    reason: Reason | None = None
    attempts: list[BundledAttempt] = Field(default_factory=list)


class Said(_Part):
    """The verdict where it was made, for people who open the file. Never read."""

    verdict: str | None = None
    summary: str = ""


class Bundle(_Part):
    """The whole document."""

    format: Literal["samehere-bundle"] = "samehere-bundle"
    version: Literal[1] = 1
    about: str = ABOUT
    made_by: MadeBy
    report: Submitted
    run: BundledRun
    said: Said = Field(default_factory=Said)
    scripts: dict[_Digest, str]
    environments: dict[_Digest, Environment]
    jobs: list[BundledJob]
    digest: _Digest


def own_version() -> str:
    """The version of samehere that runs."""
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"


def bundle_of(
    run: RunFacts,
    reading: Reading,
    jobs: Sequence[JobFacts],
    submitted: Submitted,
    *,
    said: Said,
    contributed_by: str | None = None,
) -> dict[str, Any]:
    """The document of a run that ended, as JSON data with its digest."""
    environments: dict[str, Environment] = {}
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
        "said": said.model_dump(mode="json"),
        "scripts": {script.digest: script.script for script in reading.scripts if script.digest in used},
        "environments": environments,
        "jobs": cells,
    }
    # As JSON reads it back: the digest must be over what is sent.
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
        "attempts": [_attempt(attempt, environments) for attempt in ended],
    }


def _attempt(attempt: AttemptFacts, environments: dict[str, Environment]) -> dict[str, Any]:
    kept = digest = None
    if attempt.result is not None:
        kept, environment = split_result(attempt.result)
        if environment:
            digest = environment_digest(environment)
            environments[digest] = environment
    facts = {name: getattr(attempt, name) for name in ("id", "kind", "start", "state", "counted")}
    return {**facts, "result": kept, "environment": digest}


def evidence_digest(bundle: Bundle) -> str:
    """The same for the same evidence, whatever ids it was given on its way, and whoever wrote it down."""
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
