"""Starts what an event asks for, if whoever sent it may, and if no label forbids it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.errors import ConflictError, InputError
from app.ids import new_id
from app.runs.github.hub import Comment, Hub, Place, Subject
from app.runs.github.repositories import Repository, repositories
from app.runs.rows.nodes import fleet
from app.runs.submission.submit import Submission, submit
from app.settings import ServiceSettings
from app.storage.models import GithubDeliveryRow, GithubThreadRow
from app.storage.models.github_delivery import DeliveryKind, GithubOutcome
from app.storage.models.github_thread import ThreadRefusal
from app.storage.queries.doors import github as queries
from app.targets.target import Target
from worker.contract import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An event that asks for a run."""

    id: str
    kind: DeliveryKind
    place: Place
    sender: str
    preset: str | None


def request_of(row: GithubDeliveryRow) -> Request:
    """The request of a stored event."""
    place = Place(
        installation_id=row.installation_id,
        repository=row.repository,
        number=row.number,
        is_pull=row.is_pull,
    )
    return Request(id=row.id, kind=row.kind, place=place, sender=row.sender, preset=row.preset)


def start(factory: sessionmaker[Session], hub: Hub, request: Request, *, settings: ServiceSettings) -> None:
    """Start the run of a request, or end it without a word.

    Raises HubRefusedError, HubAwayError, SetupError, UnavailableError.
    """
    repository = repositories(settings).get(request.place.repository)
    if repository is None:
        _end(factory, request, "not_listed")
        return
    if not repository.allows(hub.role(request.place, request.sender)):
        _end(factory, request, "not_allowed")
        return
    subject = hub.subject(request.place)
    refusal = _forbidden(request, subject, repository)
    if refusal is not None:
        _end(factory, request, refusal)
        return
    comments = () if request.place.is_pull else hub.comments(request.place)
    with factory.begin() as session:
        row = queries.delivery(session, request.id)
        if row is None or row.state != "waiting":
            return
        _launch(session, request, subject, comments, repository, settings=settings)
        row.state, row.outcome, row.ended_at = "done", "started", now()


def _forbidden(request: Request, subject: Subject, repository: Repository) -> GithubOutcome | None:
    """Why nothing is done here. None if something may be."""
    if repository.bans(subject.labels):
        return "banned"
    if subject.is_locked:
        return "closed"
    if request.kind == "label" and repository.label.lower() not in subject.labels:
        return "unlabelled"
    return None


def _end(factory: sessionmaker[Session], request: Request, outcome: GithubOutcome) -> None:
    with factory.begin() as session:
        row = queries.delivery(session, request.id)
        if row is not None and row.state == "waiting":
            row.state, row.outcome, row.ended_at = "done", outcome, now()


def _launch(
    session: Session,
    request: Request,
    subject: Subject,
    comments: Sequence[Comment],
    repository: Repository,
    *,
    settings: ServiceSettings,
) -> None:
    """Submit the report and let its thread follow, in one transaction with the end of the event."""
    sha = subject.head_sha if repository.checks else None
    preset, targets, refusal = _cells(session, request, repository, sha, settings=settings)
    report_id = run_id = None
    if refusal is None:
        submission = Submission(
            report=_report(subject, comments), preset=preset, targets=targets, source_url=subject.url
        )
        try:
            with session.begin_nested():
                document = submit(session, submission, settings=settings).document
            report_id, run_id = document.report.id, document.id
        except (InputError, ConflictError):
            # The message may quote the report.
            refusal = "report"
    row = _thread(session, request.place)
    if row.head_sha != sha:
        # A check belongs to its commit.
        row.posted_id = row.posted_digest = row.posted_verdict = None
    row.installation_id, row.head_sha = request.place.installation_id, sha
    row.report_id, row.run_id, row.refusal = report_id, run_id, refusal
    row.state, row.tries, row.next_at = "following", 0, now()
    session.flush()


def _cells(
    session: Session, request: Request, repository: Repository, sha: str | None, *, settings: ServiceSettings
) -> tuple[str | None, tuple[Target, ...] | None, ThreadRefusal | None]:
    """The preset or the targets of the run, or why there is none."""
    if sha is None:
        preset = request.preset or repository.presets[0]
        return (preset, None, None) if preset in repository.presets else (None, None, "preset")
    base, head = repository.sides(sha)
    known = {
        facts.name
        for node in fleet(session, settings=settings)
        for facts in node.toolchains
        if facts.state in {"ready", "locked"}
    }
    if head not in known:
        return None, None, "no_head_build"
    if base not in known:
        return None, None, "no_base_build"
    device = Device(repository.device)
    return None, tuple(Target(device=device, toolchain=name) for name in (base, head)), None


def _report(subject: Subject, comments: Sequence[Comment]) -> str:
    """The thread as a report, in the form of `gh issue view --json`."""
    return json.dumps(
        {
            "title": subject.title,
            "body": subject.body,
            "author": subject.author,
            "url": subject.url,
            "comments": [
                {"author": comment.author, "body": comment.body} for comment in comments if not comment.ours
            ],
        }
    )


def _thread(session: Session, place: Place) -> GithubThreadRow:
    """The row of a thread, a new one for a new thread."""
    row = queries.thread_at(session, place.repository, place.number)
    if row is None:
        row = GithubThreadRow(
            id=new_id(),
            repository=place.repository,
            number=place.number,
            is_pull=place.is_pull,
            created_at=now(),
        )
        session.add(row)
    return row
