"""The objects of runs that are over, kept as they are answered."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.models import RunDocumentRow, RunRow


def kept_document(session: Session, run_id: str, *, made_from: str) -> bytes | None:
    """The object of a run, if it was made from this."""
    query = select(RunDocumentRow.content).where(
        RunDocumentRow.run_id == run_id, RunDocumentRow.made_from == made_from
    )
    return session.scalar(query)


def keep_document(session: Session, run_id: str, *, made_from: str, content: bytes) -> None:
    """Keep the object of a run that can be referred to at once: whoever only looks waits for nobody."""
    free = (
        select(RunRow.id)
        .where(RunRow.id == run_id)
        .with_for_update(key_share=True, read=True, skip_locked=True)
    )
    if session.scalar(free) is None:
        return
    new = {"made_from": made_from, "content": content}
    statement = insert(RunDocumentRow).values(run_id=run_id, **new)
    session.execute(statement.on_conflict_do_update(index_elements=[RunDocumentRow.run_id], set_=new))


def forget_documents(session: Session, report_id: str) -> None:
    """Forget the objects of a report's runs: they hold its text."""
    runs = select(RunRow.id).where(RunRow.report_id == report_id)
    session.execute(delete(RunDocumentRow).where(RunDocumentRow.run_id.in_(runs)))
