"""Caches the run objects of ended runs: as JSON in the database, and as values in this process."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from sqlalchemy import inspect
from sqlalchemy.orm import Session

from app.cache import SizedCache
from app.judging.versions import COMPARISON_RULES, DOCUMENT_VERSION, JUDGING_RULES
from app.runs.run_object.document import RunDocument
from app.states import OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import RunRow
from app.storage.queries import acts as act_queries
from app.storage.queries import run_documents as queries
from app.storage.queries import runs as run_queries

# A run object rests on these. The stored reading of the report is not made again, so intake has no number
# here.
VERSIONS = (JUDGING_RULES, COMPARISON_RULES, DOCUMENT_VERSION)
_COMPRESSION_LEVEL = 3
# The budget counts bytes of JSON; the parsed objects take several times as much memory.
_DOCUMENTS: SizedCache[RunDocument] = SizedCache(16 * 2**20)


def cached_json(session: Session, run: RunRow) -> bytes | None:
    """The cached run object as JSON. None for an open run, and when nothing current is cached."""
    if run.state in OPEN_STATES:
        return None
    content = queries.find(session, run.id, source_digest=_source_digest(session, run))
    return None if content is None else zlib.decompress(content)


def cached_document(session: Session, run: RunRow) -> RunDocument | None:
    """The cached run object. None for an open run, and when nothing current is cached."""
    if run.state in OPEN_STATES:
        return None
    source_digest = _source_digest(session, run)
    document = _DOCUMENTS.find(source_digest)
    if document is not None:
        return document
    content = queries.find(session, run.id, source_digest=source_digest)
    if content is None:
        return None
    text = zlib.decompress(content)
    # JSON has no infinite numbers. An object with one can't be parsed and is assembled again.
    with suppress(ValidationError):
        document = RunDocument.model_validate_json(text)
        _DOCUMENTS.store(source_digest, document, len(text))
        return document
    return None


def cache_document(session: Session, run: RunRow, document: RunDocument) -> None:
    """Cache the run object of an ended run. The caller commits.

    A cancelled run may still have attempts on a node. Their results change the object without an event, so
    nothing is cached until they have ended.
    """
    has_active_attempts = any(
        attempt.state in OPEN_ATTEMPT_STATES for job in document.jobs for attempt in job.attempts
    )
    if run.state not in OPEN_STATES and not has_active_attempts:
        source_digest = _source_digest(session, run)
        queries.store(session, run.id, source_digest=source_digest, content=compressed_json(document))


def compressed_json(document: RunDocument) -> bytes:
    """A run object as the database holds it."""
    return zlib.compress(json_of(document), _COMPRESSION_LEVEL)


def json_of(document: RunDocument) -> bytes:
    """A run object as REST answers it."""
    return document.model_dump_json(by_alias=True).encode()


def _source_digest(session: Session, run: RunRow) -> str:
    acts = act_queries.acts(session, before=None, limit=1, subject_kind="run", subject=run.id)
    report = run_queries.short_report(session, run.report_id)
    return digest_of_sources(run, report, latest_act=acts[0].id if acts else "")


def digest_of_sources(run: RunRow, report: Mapping[str, Any], *, latest_act: str = "") -> str:
    """A digest of all that a run object shows and that may change.

    Attempts need not be read: each change of one raises the number of the run's last event.
    """
    columns = inspect(RunRow).column_attrs
    run_values = {column.key: str(getattr(run, column.key)) for column in columns}
    report_values = {name: str(value) for name, value in report.items()}
    sources = [VERSIONS, run_values, report_values, latest_act]
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()
