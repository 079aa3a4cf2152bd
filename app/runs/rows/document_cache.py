"""The object of a run that is over is assembled once and kept: the same rules give the same answer, however often somebody looks."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

import app
from app.cache import Recent
from app.runs.run_object.document import RunDocument
from app.storage.models import RunRow
from app.storage.queries import acts as act_queries
from app.storage.queries import run_documents as queries
from app.storage.queries import runs as run_queries
from worker import contract

# What an object is made by: with another line in it what is kept is made anew.
_CODE = ("intake", "judging", "runs", "targets")
_LEVEL = 3
# Of what was read lately, as JSON; read, it takes several times as much.
_RECENT: Recent[RunDocument] = Recent(16 * 2**20)


def kept_document(session: Session, run: RunRow) -> bytes | None:
    """The object of a run as it is answered, if it is kept and nothing that it was made from has changed."""
    if run.state in run_queries.OPEN:
        return None
    content = queries.kept_document(session, run.id, made_from=_made_from(session, run))
    return None if content is None else zlib.decompress(content)


def read_document(session: Session, run: RunRow) -> RunDocument | None:
    """The same, read; what was read lately is not read again."""
    if run.state in run_queries.OPEN:
        return None
    made_from = _made_from(session, run)
    recent = _RECENT.find(made_from)
    if recent is not None:
        return recent
    content = queries.kept_document(session, run.id, made_from=made_from)
    if content is None:
        return None
    text = zlib.decompress(content)
    # An infinite number has no place in JSON: such an object is made anew.
    with suppress(ValidationError):
        document = RunDocument.model_validate_json(text)
        _RECENT.keep(made_from, document, len(text))
        return document
    return None


def keep_document(session: Session, run: RunRow, document: RunDocument) -> None:
    """Keep the object of a run that is over and has no attempt on a node any more: what such a one says is no event. The caller commits."""
    at_work = any(attempt.state in run_queries.WAITING for job in document.jobs for attempt in job.attempts)
    if run.state not in run_queries.OPEN and not at_work:
        queries.keep_document(session, run.id, made_from=_made_from(session, run), content=packed(document))


def packed(document: RunDocument) -> bytes:
    """A run object as it is kept."""
    return zlib.compress(written(document), _LEVEL)


def written(document: RunDocument) -> bytes:
    """A run object as it is answered."""
    return document.model_dump_json(by_alias=True).encode()


def _made_from(session: Session, run: RunRow) -> str:
    acts = act_queries.acts(session, before=None, limit=1, subject_kind="run", subject=run.id)
    return digest_of_sources(
        run, run_queries.short_report(session, run.report_id), latest_act=acts[0].id if acts else ""
    )


def digest_of_sources(run: RunRow, report: Mapping[str, Any], *, latest_act: str = "") -> str:
    """Of everything that an object tells and that may change: attempts change with the number of the run's last event."""
    told = {column.name: str(getattr(run, column.key)) for column in RunRow.__table__.columns}
    rows = [told, {name: str(value) for name, value in report.items()}, latest_act]
    return hashlib.sha256(f"{_code()}{json.dumps(rows, sort_keys=True)}".encode()).hexdigest()


@cache
def _code() -> str:
    """A digest of the code that objects are made by."""
    root = Path(app.__path__[0])
    paths = [path for folder in _CODE for path in sorted((root / folder).rglob("*.py"))]
    contracts = Path(contract.__file__)
    paths += sorted(contracts.parent.glob("*.py")) if contracts.name == "__init__.py" else [contracts]
    made = hashlib.sha256()
    for path in paths:
        made.update(path.read_bytes())
    return made.hexdigest()
