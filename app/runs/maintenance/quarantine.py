"""Quarantine a node, a toolchain or a script: it gets no new work, and results that rely on it are rerun."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.ids import is_id, new_id
from app.runs.lifecycle.doubt import reopen_some
from app.runs.rows.acts import checked_reason, store_act
from app.runs.rows.page import Page, page
from app.settings import ServiceSettings
from app.states import QuarantineKind
from app.storage.models import QuarantineRow
from app.storage.outbox import outbox
from app.storage.queries.queue import quarantines as queries
from worker.contract.text import storable_text

log = structlog.get_logger(__name__)


class Quarantine(BaseModel):
    """A quarantine. `lifted_at` is null while it is active."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: QuarantineKind
    name: str = Field(description="the name of the node or the toolchain, or the digest of the script")
    reason: str
    who: str
    since: datetime | None = Field(
        description=(
            "its evidence since this moment is in doubt; null: only that of runs which were open or gave a"
            " report its current verdict"
        )
    )
    created_at: datetime
    lifted_at: datetime | None
    reopened: int = Field(description="the number of reopened runs")
    to_reopen: int = Field(description="the number of runs that will be reopened within seconds")


def quarantine(
    session: Session,
    kind: QuarantineKind,
    name: str,
    *,
    reason: str,
    who: str,
    settings: ServiceSettings,
    since: datetime | None = None,
) -> Quarantine:
    """Start a quarantine and reopen the runs that rely on its subject.

    Raises NotFoundError, ConflictError if the subject is quarantined already, InputError.
    """
    stored_reason, stored_name = checked_reason(reason), storable_text(name)
    if since is not None and (since.tzinfo is None or since > now()):
        raise InputError(
            "`since` is a time in the past, with its time zone.", code="bad_since", field="since"
        )
    queries.exclusive_lock(session)
    if not queries.is_known(session, kind, stored_name):
        raise NotFoundError(
            f"There is no {kind} with this {'digest' if kind == 'script' else 'name'}.", field="name"
        )
    if queries.active_of(session, kind, stored_name) is not None:
        raise ConflictError(f"This {kind} is quarantined already.", code="in_quarantine")
    row = QuarantineRow(
        id=new_id(),
        kind=kind,
        name=stored_name,
        reason=stored_reason,
        who=who,
        since=since,
        created_at=now(),
        reopened=0,
        pending=queries.runs_resting_on(session, kind, stored_name, since=since),
    )
    session.add(row)
    session.flush()
    details = {
        "quarantine": row.id,
        "since": None if since is None else since.isoformat(),
        "runs": len(row.pending),
    }
    store_act(session, kind, stored_name, "quarantined", reason=stored_reason, who=who, details=details)
    reopen_some(session, row, settings=settings)
    # Other nodes can take the attempts that came back to the queue.
    outbox(session).wake_dispatcher()
    log.warning("quarantined", kind=kind, name=stored_name, who=who)
    return quarantine_of(row)


def lift(session: Session, quarantine_id: str, *, reason: str, who: str) -> Quarantine:
    """Lift a quarantine. Runs that it reopened stay open.

    Raises NotFoundError, ConflictError if it was lifted before, InputError.
    """
    queries.exclusive_lock(session)
    row = queries.lock(session, quarantine_id) if is_id(quarantine_id) else None
    if row is None:
        raise NotFoundError("There is no quarantine with this id.")
    if row.lifted_at is not None:
        raise ConflictError("This quarantine was lifted before.", code="lifted")
    store_act(session, row.kind, row.name, "lifted", reason=reason, who=who, details={"quarantine": row.id})
    row.lifted_at, row.pending = now(), []
    outbox(session).wake_dispatcher()
    return quarantine_of(row)


def quarantine_of(row: QuarantineRow) -> Quarantine:
    """The quarantine of a row."""
    facts = {name: getattr(row, name) for name in Quarantine.model_fields if name != "to_reopen"}
    return Quarantine.model_validate({**facts, "to_reopen": len(row.pending)})


def active_quarantines(session: Session) -> list[Quarantine]:
    """The active quarantines, oldest first."""
    return [quarantine_of(row) for row in queries.active(session)]


def list_quarantines(session: Session, *, cursor: str | None = None, limit: int = 50) -> Page[Quarantine]:
    """A page of quarantines, newest first, with those that were lifted. Raises InputError."""

    def read(before: str | None, most: int) -> Sequence[QuarantineRow]:
        return queries.page(session, before=before, limit=most)

    return page(read, cursor=cursor, limit=limit).map(quarantine_of)
