"""A flip: the verdict changes between two cells that differ in one version only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Verdict
from app.judging.report.axis import age_of
from app.judging.report.change import ChangeKind, Side, change_of
from app.runs.run_object.answer.places import environment_of, imports_of
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.removal_part import RemovalPart
from app.targets.target import label_of


@dataclass(frozen=True, slots=True)
class Flip:
    """A regression or a fix in one version of `package`, with the cells on both sides.

    A side is None if only a change tells of it.
    """

    kind: ChangeKind
    package: str
    older: str
    newer: str
    before: JobPart | None = None
    after: JobPart | None = None
    removal: RemovalPart | None = None


def flip_in(run: RunDocument) -> Flip | None:
    """The flip that a run shows by itself. None unless all of its rows with one agree.

    It is a fix only if no row still shows the claim in its newest version.
    """
    if run.contributed is not None:
        return None
    rows = list(_rows(run))
    imported = imports_of(run)
    flips = [flip for row in rows if (flip := _last_flip(run, row, imported)) is not None]
    if len({(flip.kind, flip.package, flip.older, flip.newer) for flip in flips}) != 1:
        return None
    newest = {row[-1].verdict for row in rows if any(job.verdict in SIGHTINGS for job in row)}
    if flips[0].kind is ChangeKind.FIXED and newest != {Verdict.NOT_REPRODUCED}:
        return None
    return flips[0]


def _rows(run: RunDocument) -> Iterator[list[JobPart]]:
    """The conclusive cells of each script, device and settings, oldest version first, without controls."""
    controls = {script.digest for script in run.report.scripts if script.role == "control"}
    rows: dict[tuple[str, str], list[JobPart]] = {}
    for job in run.jobs:
        if job.verdict is None or job.verdict in INCONCLUSIVE or job.script in controls:
            continue
        # A copy of the target keeps the label that is cached in it.
        label = label_of(job.target.model_copy(update={"toolchain": ""}))
        rows.setdefault((job.script, label), []).append(job)
    for row in rows.values():
        yield sorted(row, key=lambda job: age_of(environment_of(run, job), job.target.toolchain))


def _last_flip(run: RunDocument, row: Sequence[JobPart], imported: set[str]) -> Flip | None:
    """The flip in the newest version of a row."""
    for before, after in zip(row[-2::-1], row[:0:-1], strict=True):
        change = change_of(_side(run, before), _side(run, after), imported=imported)
        if change is not None and change.kind in {ChangeKind.REGRESSED, ChangeKind.FIXED}:
            package, (older, newer) = change.difference.versions[0]
            return Flip(change.kind, package, older, newer, before, after, run.removal)
    return None


def _side(run: RunDocument, job: JobPart) -> Side:
    return Side(
        verdict=job.verdict or Verdict.NO_RESULT,
        matched=job.matched,
        of=job.of,
        environment=environment_of(run, job),
        label=job.target.label,
    )
