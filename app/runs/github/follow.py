"""Posts what a thread has to say: one comment, edited; a new one if a verdict flips; or one check."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.judging.judgement import SIGHTINGS, Verdict
from app.runs.github.hub import Hub, Place
from app.runs.github.repositories import Repository, repositories
from app.runs.github.wording import Posting, posting, refusal_posting
from app.runs.lookup.answers import answer_of_report
from app.runs.lookup.reports import current_run, report_details
from app.runs.lookup.runs import run_document
from app.settings import ServiceSettings
from app.storage.models import GithubThreadRow
from app.storage.models.github_thread import ThreadRefusal
from app.storage.queries.doors import github as queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread, as it was taken."""

    id: str
    place: Place
    report_id: str | None
    run_id: str | None
    refusal: ThreadRefusal | None
    head_sha: str | None
    posted_id: int | None
    posted_digest: str | None
    posted_verdict: Verdict | None
    is_settled: bool


def thread_of(row: GithubThreadRow) -> Thread:
    """The facts of a row, to be used outside of its transaction."""
    place = Place(
        installation_id=row.installation_id,
        repository=row.repository,
        number=row.number,
        is_pull=row.is_pull,
    )
    return Thread(
        id=row.id,
        place=place,
        report_id=row.report_id,
        run_id=row.run_id,
        refusal=row.refusal,
        head_sha=row.head_sha,
        posted_id=row.posted_id,
        posted_digest=row.posted_digest,
        posted_verdict=row.posted_verdict,
        is_settled=row.state == "settled",
    )


def follow(factory: sessionmaker[Session], hub: Hub, thread: Thread, *, settings: ServiceSettings) -> None:
    """Post what is new in a thread, if anything is. A label may forbid it at any time.

    Raises HubRefusedError, HubAwayError, SetupError, UnavailableError.
    """
    repository = repositories(settings).get(thread.place.repository)
    if repository is None:
        stop(factory, thread.id)
        return
    with factory.begin() as session:
        new = _posting(session, thread, repository, settings=settings)
    digest = hashlib.sha256(repr((new.text, new.check)).encode()).hexdigest()
    if digest == thread.posted_digest and thread.posted_id is not None:
        _store(factory, thread, new, digest, settings=settings)
        return
    subject = hub.subject(thread.place)
    if repository.bans(subject.labels) or subject.is_locked:
        stop(factory, thread.id)
        return
    posted_id = _post_check(hub, thread, new) if thread.head_sha is not None else _post(hub, thread, new)
    _store(factory, replace(thread, posted_id=posted_id), new, digest, settings=settings)


def _posting(
    session: Session, thread: Thread, repository: Repository, *, settings: ServiceSettings
) -> Posting:
    if thread.refusal is not None or thread.run_id is None or thread.report_id is None:
        return refusal_posting(thread.refusal or "report", repository, head_sha=thread.head_sha)
    sides = None if thread.head_sha is None else repository.sides(thread.head_sha)
    report = report_details(session, thread.report_id)
    current = current_run(report) if thread.is_settled else None
    run = run_document(session, thread.run_id if current is None else current.id)
    return posting(
        run,
        answer_of_report(session, report, run) if run.finished_at is not None else run.answer,
        page=settings.public_url,
        sides=sides,
        overruled=None if report.overruled is None else report.overruled.verdict,
    )


def _post(hub: Hub, thread: Thread, new: Posting) -> int:
    """Write or edit the comment. One that was written before a crash is found again."""
    flips = is_flip(thread.posted_verdict, new.verdict)
    if thread.posted_id is not None and not flips:
        hub.edit(thread.place, thread.posted_id, new.text)
        return thread.posted_id
    for comment in hub.comments(thread.place):
        if not comment.ours or comment.id == thread.posted_id:
            continue
        if comment.body.strip() == new.text.strip():
            return comment.id
        if not flips and thread.run_id is not None and f"`{thread.run_id}`" in comment.body:
            hub.edit(thread.place, comment.id, new.text)
            return comment.id
    return hub.post(thread.place, new.text)


def _post_check(hub: Hub, thread: Thread, new: Posting) -> int:
    """Write or edit the check of the head commit."""
    if new.check is None or thread.head_sha is None:
        raise AssertionError("unreachable")
    known = thread.posted_id or hub.find_check(thread.place, thread.head_sha, thread.id)
    if known is None:
        return hub.post_check(thread.place, thread.head_sha, thread.id, new.check)
    hub.edit_check(thread.place, known, new.check)
    return known


def is_flip(before: Verdict | None, after: Verdict | None) -> bool:
    """Whether a bug that was seen is gone, or one that was not seen is there."""
    if before is None or after is None:
        return False
    return {before in SIGHTINGS, after in SIGHTINGS} == {True, False} and Verdict.NOT_REPRODUCED in {
        before,
        after,
    }


def _store(
    factory: sessionmaker[Session], thread: Thread, new: Posting, digest: str, *, settings: ServiceSettings
) -> None:
    with factory.begin() as session:
        row = queries.thread(session, thread.id)
        if row is None or row.run_id != thread.run_id or row.head_sha != thread.head_sha:
            # It was asked for again meanwhile: the next round posts that.
            if row is not None and row.posted_id is None and row.head_sha == thread.head_sha:
                row.posted_id = thread.posted_id
            return
        row.posted_id, row.posted_digest, row.tries = thread.posted_id, digest, 0
        row.next_at = now() + timedelta(seconds=settings.github_progress_seconds)
        if new.is_final:
            row.state, row.posted_verdict = "settled", new.verdict or row.posted_verdict


def stop(factory: sessionmaker[Session], thread_id: str) -> None:
    """Post nothing more in a thread, until somebody asks again."""
    with factory.begin() as session:
        row = queries.thread(session, thread_id)
        if row is not None:
            row.state = "stopped"
