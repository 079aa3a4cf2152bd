"""Environments for the pages: what sets the machines apart on which it happens, and what differs from one to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.judging.comparison.environments import differing_fields
from app.judging.judgement import SIGHTINGS, Verdict
from app.runs.run_object.document import RunDocument
from worker.contract import Environment

# Variables follow from settings, and the fingerprint of a library from its path.
_UNTOLD = ("variable.", "blas.fingerprint", "cpu.affinity")
_PACKAGE = "package."
_DOES_NOT = {Verdict.DIFFERENT, Verdict.NOT_REPRODUCED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A field with its values where it happens and where it does not. `likely`: no value is on both sides."""

    name: str
    there: tuple[str, ...]
    elsewhere: tuple[str, ...]
    likely: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """One environment on a page: what differs from the first, or all of the first; packages in one line."""

    digest: str
    title: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    # How many there are; the rows are as many of them as a page shows.
    fields: int
    packages: str
    first: bool
    # How many fields differ from the first, packages among them.
    differing: int


def said(value: object) -> str:
    """A fact as text."""
    if value is None:
        return "not known"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def what_sets_apart(run: RunDocument, *, most: int = 12) -> list[Apart]:
    """The fields that differ between the targets where it happens and those where it does not; likely ones first.

    Cells that are there to test for a cause are no place where it does not happen.
    """
    sides: list[list[Environment]] = []
    for verdicts in (SIGHTINGS, _DOES_NOT):
        digests = {
            attempt.environment
            for job in run.jobs
            if job.verdict in verdicts and "fill" not in job.target.settings
            for attempt in job.attempts
            if attempt.counted
        } - {None}
        sides.append(
            [
                run.environments[digest]
                for digest in sorted(filter(None, digests))
                if digest in run.environments
            ]
        )
    there, elsewhere = sides
    if not there or not elsewhere:
        return []
    names = dict.fromkeys(
        name for one in there for other in elsewhere for name in differing_fields(one, other)
    )
    ordered = [name for name in differing_fields(dict.fromkeys(names, 1), {}) if not name.startswith(_UNTOLD)]
    found = [_apart(name, there, elsewhere) for name in ordered]
    return sorted(found, key=lambda one: not one.likely)[:most]


def _apart(name: str, there: Sequence[Environment], elsewhere: Sequence[Environment]) -> Apart:
    one, other = (tuple(dict.fromkeys(said(each.get(name)) for each in side)) for side in (there, elsewhere))
    return Apart(name=name, there=one[:4], elsewhere=other[:4], likely=not set(one) & set(other))


def surroundings(
    environments: Mapping[str, Environment], *, most: int = 24, most_rows: int = 300
) -> list[Surroundings]:
    """The first environment in full, of each other one what differs from it; together no more rows than that."""
    made: list[Surroundings] = []
    base: Environment = {}
    for digest, environment in list(environments.items())[:most]:
        names = [
            name for name in (differing_fields(environment, base)) if not name.startswith("blas.fingerprint")
        ]
        packages = [name for name in names if name.startswith(_PACKAGE)]
        rows = [(name, said(environment.get(name))) for name in names if not name.startswith(_PACKAGE)]
        titles = (
            environment.get(name) for name in ("torch.version", "gpu.0.model", "cpu.model", "blas.path")
        )
        made.append(
            Surroundings(
                digest=digest,
                title=tuple(said(title) for title in titles if title),
                rows=tuple((sorted(rows) if not base else rows)[:most_rows]),
                fields=len(rows),
                packages=", ".join(
                    f"{name.removeprefix(_PACKAGE)} {said(environment.get(name))}"
                    for name in sorted(packages)
                ),
                first=not base,
                differing=len(names),
            )
        )
        base = base or environment
        most_rows = max(0, most_rows - len(rows))
    return made
