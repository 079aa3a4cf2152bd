"""The cached JSON of run objects."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.models import RunDocumentRow, RunRow


def find(session: Session, run_id: str, *, source_digest: str) -> bytes | None:
    """The compressed JSON of a run, if it was made from sources with this digest."""
    query = select(RunDocumentRow.content).where(
        RunDocumentRow.run_id == run_id, RunDocumentRow.source_digest == source_digest
    )
    return session.scalar(query)


def store(session: Session, run_id: str, *, source_digest: str, content: bytes) -> None:
    """Store the compressed JSON of a run.

    Nothing is stored while another transaction holds the run: a reader never waits.
    """
    free = (
        select(RunRow.id)
        .where(RunRow.id == run_id)
        .with_for_update(key_share=True, read=True, skip_locked=True)
    )
    if session.scalar(free) is None:
        return
    new = insert(RunDocumentRow).values(run_id=run_id, source_digest=source_digest, content=content)
    changes = {"made_from": new.excluded.made_from, "content": new.excluded.content}
    session.execute(new.on_conflict_do_update(index_elements=[RunDocumentRow.run_id], set_=changes))


def delete_of_report(session: Session, report_id: str) -> None:
    """Delete the JSON of a report's runs, since it holds the text of the report."""
    runs = select(RunRow.id).where(RunRow.report_id == report_id)
    session.execute(delete(RunDocumentRow).where(RunDocumentRow.run_id.in_(runs)))
