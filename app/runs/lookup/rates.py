"""Reads the counts that the points of a history lack: in how many attempts the claim was seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from app.runs.lookup.history import Point
from app.runs.lookup.runs import run_document
from app.runs.rows.by_id import get_run
from app.runs.rows.document_cache import cached_json
from app.runs.run_object.document import RunDocument
from app.states import OPEN_STATES

# The newest runs whose counts are read. Points of older runs stay without counts, and those of a run that
# still goes on.
MOST_RUNS = 24


def with_counts(session: Session, points: Sequence[Point], *, known: RunDocument) -> list[Point]:
    """The points, newest first, with their counts. `known` is the run that the caller has read already.

    Contributed points get none: they are never added up.
    """
    runs = list(dict.fromkeys(point.run for point in points if point.contributed_by is None))[:MOST_RUNS]
    counts = {job.id: (job.matched, job.of) for job in known.jobs}
    for run_id in runs:
        if run_id != known.id:
            counts |= _counts_of(session, run_id)
    return [_with_counts_of(point, counts) for point in points]


def _counts_of(session: Session, run_id: str) -> Mapping[str, tuple[int, int]]:
    """The counts by job. The cached JSON is enough, and much faster to read than the object."""
    run = get_run(session, run_id)
    if run.state in OPEN_STATES:
        return {}
    content = cached_json(session, run)
    if content is not None:
        return {job["id"]: (job.get("matched", 0), job.get("of", 0)) for job in json.loads(content)["jobs"]}
    return {job.id: (job.matched, job.of) for job in run_document(session, run_id).jobs}


def _with_counts_of(point: Point, counts: Mapping[str, tuple[int, int]]) -> Point:
    pair = counts.get(point.job) if point.contributed_by is None else None
    return point if pair is None else point.model_copy(update={"matched": pair[0], "of": pair[1]})
