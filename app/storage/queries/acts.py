"""The acts of maintainers, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.states import ActKind, SubjectKind
from app.storage.models import ActRow


def acts(
    session: Session,
    *,
    before: str | None,
    limit: int,
    subject_kind: SubjectKind | None = None,
    subject: str | None = None,
) -> Sequence[ActRow]:
    """Acts older than an id."""
    statement = select(ActRow).order_by(ActRow.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(ActRow.id < before)
    if subject_kind is not None:
        statement = statement.where(ActRow.subject_kind == subject_kind)
    if subject is not None:
        statement = statement.where(ActRow.subject == subject)
    return session.scalars(statement).all()


def latest(session: Session, subject_kind: SubjectKind, subject: str, *, what: ActKind) -> ActRow | None:
    """The latest act of a kind on one thing."""
    mine = (ActRow.subject_kind == subject_kind, ActRow.subject == subject, ActRow.what == what)
    return session.scalar(select(ActRow).where(*mine).order_by(ActRow.id.desc()).limit(1))
