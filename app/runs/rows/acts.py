"""Stores and lists the acts of maintainers. An act is never deleted; it has a reason and an author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError
from app.ids import new_id
from app.judging.judgement import Verdict
from app.runs.rows.page import Page, page
from app.runs.run_object.answer.disposition_part import DispositionPart
from app.runs.run_object.maintainer_acts import Act, EarlierClaim, Overruling
from app.states import ActKind, SubjectKind
from app.storage.models import ActRow, ReportRow
from app.storage.queries import acts as queries
from worker.contract.text import storable_text

REASON_CHARACTERS = 2_000
# On a page or in a run object. `GET /acts` lists all.
MOST_SHOWN = 50
SUBMITTER = "submitter"
OPERATOR = "operator"


def checked_reason(reason: str) -> str:
    """The reason of an act, without surrounding space. Raises InputError if it is empty or too long."""
    text = storable_text(reason).strip()
    if not text or len(text) > REASON_CHARACTERS:
        raise InputError(
            f"Say why, in at most {REASON_CHARACTERS} characters: the reason is stored and shown.",
            code="no_reason",
            field="reason",
        )
    return text


def store_act(
    session: Session,
    subject_kind: SubjectKind,
    subject: str,
    what: ActKind,
    *,
    reason: str,
    who: str,
    details: dict[str, Any] | None = None,
) -> ActRow:
    """Store an act in the transaction that does it. Raises InputError without a reason."""
    row = ActRow(
        id=new_id(),
        subject_kind=subject_kind,
        subject=subject,
        what=what,
        reason=checked_reason(reason),
        who=who,
        details=details or {},
        created_at=now(),
    )
    session.add(row)
    session.flush()
    return row


def act_of(row: ActRow) -> Act:
    """The act of a row."""
    return Act.model_validate({name: getattr(row, name) for name in Act.model_fields})


def acts_on(session: Session, subject_kind: SubjectKind, subject: str) -> list[Act]:
    """The latest acts on one thing, newest first."""
    return [
        act_of(row)
        for row in queries.acts(
            session, before=None, limit=MOST_SHOWN, subject_kind=subject_kind, subject=subject
        )
    ]


def overruling(
    session: Session, subject_kind: SubjectKind, subject: str, verdict: Verdict | None
) -> Overruling | None:
    """The current overruling of a run or a report.

    `verdict` is that of its row, None if there is no overruling.
    """
    row = None if verdict is None else queries.latest(session, subject_kind, subject, what="overruled")
    if row is None or verdict is None:
        return None
    return Overruling(verdict=verdict, reason=row.reason, who=row.who, created_at=row.created_at)


def disposition_of(session: Session, report: ReportRow) -> DispositionPart | None:
    """Why a report is closed, if a maintainer chose a disposition."""
    if report.disposition is None:
        return None
    row = queries.latest(session, "report", report.id, what="closed")
    if row is None:
        return None
    return DispositionPart(
        word=report.disposition,
        duplicate_of=report.duplicate_of,
        fixed_by=row.details.get("fixed_by"),
        reason=row.reason,
        who=row.who,
        created_at=row.created_at,
    )


def confirmation_of(session: Session, report: ReportRow) -> DispositionPart | None:
    """The word of the maintainer who confirmed that an open report is a bug."""
    if report.confirmed_at is None:
        return None
    row = queries.latest(session, "report", report.id, what="confirmed")
    if row is None:
        return None
    return DispositionPart(word="confirmed", reason=row.reason, who=row.who, created_at=row.created_at)


def earlier_claims(report: ReportRow) -> list[EarlierClaim]:
    """The claims that were corrected, newest first."""
    return [EarlierClaim.model_validate(each) for each in reversed(report.earlier_claims)]


def list_acts(
    session: Session,
    *,
    cursor: str | None = None,
    limit: int = 50,
    subject_kind: SubjectKind | None = None,
    subject: str | None = None,
) -> Page[Act]:
    """A page of acts, newest first. Raises InputError for a bad cursor or limit."""
    if subject is not None and subject_kind is None:
        raise InputError("Name the kind of the subject, too.", code="no_subject_kind", field="subject_kind")
    name = None if subject is None else storable_text(subject)

    def read(before: str | None, most: int) -> Sequence[ActRow]:
        return queries.acts(session, before=before, limit=most, subject_kind=subject_kind, subject=name)

    return page(read, cursor=cursor, limit=limit).map(act_of)
