"""Take a submission in: read it, plan it, store it as a report with a run, once per idempotency key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.runs.document import RunDocument
from app.settings import ServiceSettings
from app.targets.target import Target
from worker.contract import Hello


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What `POST /runs` takes; exactly one of `script` and `report`."""

    script: str | None = None
    report: str | None = None
    claim: str | None = None
    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None
    title: str = ""
    source_url: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitResult:
    """The run as planned; `created` is False when the idempotency key was answered before."""

    document: RunDocument
    created: bool


def submit(
    session: Session,
    request: Submission,
    *,
    settings: ServiceSettings,
    dry_run: bool = False,
    fleet: Sequence[Hello] | None = None,
) -> SubmitResult:
    """Store and queue a submission. `dry_run` plans and stores nothing. Raises InputError, IdempotencyError; the caller commits."""
    raise NotImplementedError
