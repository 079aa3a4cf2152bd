"""The acts of maintainers, as run objects and pages show them beside the measurements."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.judging.judgement import Verdict
from app.runs.run_object.claim_part import ClaimPart
from app.states import ActKind, SubjectKind


class Act(BaseModel):
    """One act. `details` holds the change: verdicts before and after, labels, ids."""

    model_config = ConfigDict(frozen=True)

    id: str
    subject_kind: SubjectKind
    subject: str
    what: ActKind
    reason: str
    who: str = Field(
        description="the name of the token; `local`, `submitter` or `operator` where there was none"
    )
    details: dict[str, Any] = Field(default_factory=dict)
    created_at: datetime


class Overruling(BaseModel):
    """A verdict by a maintainer. The measured verdict stays in the `verdict` of the run."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reason: str
    who: str
    created_at: datetime


class EarlierClaim(BaseModel):
    """A claim that was corrected: by whom, when and why. The next one took its place."""

    model_config = ConfigDict(frozen=True)

    claim: ClaimPart
    claim_text: str | None = Field(description="the claim as given; null if it was read from the report")
    corrected_by: str = Field(
        description="the name of the token; `local` or `submitter` without one",
        examples=["submitter"],
    )
    corrected_at: datetime
    reason: str
