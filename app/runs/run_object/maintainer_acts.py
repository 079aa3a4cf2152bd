"""The acts of maintainers, as run objects and pages show them beside the measurements."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.judging.judgement import Verdict
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
