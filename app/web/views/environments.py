"""Environments on pages: their fields, and the fields that distinguish the targets where a bug happens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.judging.comparison.environments import differing_fields
from app.judging.judgement import SIGHTINGS, Verdict
from app.runs.run_object.document import RunDocument
from worker.contract import Environment

# These say nothing new: variables follow from settings, and the fingerprint of a library from its path.
_HIDDEN_FIELDS = ("variable.", "blas.fingerprint", "cpu.affinity")
_PACKAGE = "package."
_GIB = 2**30
_DOES_NOT = {Verdict.DIFFERENT, Verdict.NOT_REPRODUCED}


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinguishingField:
    """A field with its values where the bug happens and where it does not.

    `likely`: no value is on both sides, so the field may be the reason.
    """

    name: str
    there: tuple[str, ...]
    elsewhere: tuple[str, ...]
    likely: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentView:
    """One environment on a page: all its fields if it is the first one, else the differing fields."""

    digest: str
    title: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    # The number of fields. `rows` has as many of them as a page shows.
    fields: int
    # On one line.
    packages: str
    first: bool
    # The number of fields that differ from the first environment, packages among them.
    differing: int


def fact_text(value: object) -> str:
    """A value of an environment as text."""
    if value is None:
        return "not known"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def field_text(name: str, value: object) -> str:
    """A field of an environment as text: a number of bytes in GiB."""
    if name.endswith("_bytes") and isinstance(value, int) and value >= _GIB:
        return f"{value / _GIB:.1f} GiB"
    return fact_text(value)


def distinguishing_fields(run: RunDocument, *, most: int = 12) -> list[DistinguishingField]:
    """The fields that differ between targets where it happens and others; likely reasons first."""
    there, elsewhere = _environments_with(run, SIGHTINGS), _environments_with(run, _DOES_NOT)
    if not there or not elsewhere:
        return []
    names = dict.fromkeys(
        name for one in there for other in elsewhere for name in differing_fields(one, other)
    )
    # `differing_fields` also sorts: the fields that matter most come first.
    ordered = [
        name for name in differing_fields(dict.fromkeys(names, 1), {}) if not name.startswith(_HIDDEN_FIELDS)
    ]
    fields = [_distinguishing_field(name, there, elsewhere) for name in ordered]
    return sorted(fields, key=lambda field: not field.likely)[:most]


def _environments_with(run: RunDocument, verdicts: Collection[Verdict]) -> list[Environment]:
    """The environments of cells with one of these verdicts.

    Cells that only test for a cause do not count, nor those that chance may explain.
    """
    digests = {
        attempt.environment
        for job in run.jobs
        if job.verdict in verdicts
        and job.target.label not in run.chance_where
        and not {"fill", "fix", "compile"}.intersection(job.target.settings)
        for attempt in job.attempts
        if attempt.counted and attempt.environment is not None
    }
    return [run.environments[digest] for digest in sorted(digests) if digest in run.environments]


def _distinguishing_field(
    name: str, there: Sequence[Environment], elsewhere: Sequence[Environment]
) -> DistinguishingField:
    one, other = (
        tuple(dict.fromkeys(field_text(name, each.get(name)) for each in side)) for side in (there, elsewhere)
    )
    return DistinguishingField(
        name=name, there=one[:4], elsewhere=other[:4], likely=not set(one) & set(other)
    )


def environment_views(
    environments: Mapping[str, Environment], *, start: int = 0, most: int = 24, most_rows: int = 300
) -> list[EnvironmentView]:
    """The first environment in full, and the differing fields of the others; at most `most_rows` in all.

    Environments before `start` are left out, and none of the others is in full then.
    """
    views: list[EnvironmentView] = []
    base: Environment = next(iter(environments.values())) if start and environments else {}
    for digest, environment in list(environments.items())[start : start + most]:
        names = [
            name for name in differing_fields(environment, base) if not name.startswith("blas.fingerprint")
        ]
        packages = [name for name in names if name.startswith(_PACKAGE)]
        rows = [
            (name, field_text(name, environment.get(name))) for name in names if not name.startswith(_PACKAGE)
        ]
        titles = (
            environment.get(name) for name in ("torch.version", "gpu.0.model", "cpu.model", "blas.path")
        )
        views.append(
            EnvironmentView(
                digest=digest,
                title=tuple(fact_text(title) for title in titles if title),
                rows=tuple((sorted(rows) if not base else rows)[:most_rows]),
                fields=len(rows),
                packages=", ".join(
                    f"{name.removeprefix(_PACKAGE)} {fact_text(environment.get(name))}"
                    for name in sorted(packages)
                ),
                first=not base,
                differing=len(names),
            )
        )
        base = base or environment
        most_rows = max(0, most_rows - len(rows))
    return views
