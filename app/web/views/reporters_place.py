"""The result of a report that is nearest to the reporter's environment, over all of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.intake.text.corrected_environment import field_words
from app.judging.check.places import same_release, system_of
from app.judging.judgement import SIGHTINGS, Scope, Verdict
from app.runs.lookup.history import Point
from app.runs.run_object.answer.places import imports_of
from app.runs.run_object.document import RunDocument
from app.runs.run_object.reading_notes import (
    EnvironmentField,
    environment_differences,
    fields_that_differ,
)
from app.web.text.labels import look
from app.web.views.wording import UNKNOWN_PLACE, as_reported, scope_words
from worker.contract import Environment

_WITHOUT_RESULT = {None, Verdict.NEEDS_INFO, Verdict.CANNOT_SHOW, Verdict.NO_RESULT}
# Control scripts and parts say nothing about the claim.
_SPEAKING = {"main", "alternative"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportersPlace:
    """The nearest result, and what differs there. Without a `point` the current run is all that is known.

    `named` are the versions, the card and the system that the report names, as that result has them. It is
    empty unless all of them agree.
    """

    fields: Sequence[EnvironmentField]
    differing: Sequence[str] = ()
    point: Point | None = None
    named: str = ""

    def facts(self, run: RunDocument) -> str:
        """Whether the reporter's environment was tried, and the result there; `run` is the current run."""
        if run.scope is not Scope.AS_REPORTED and self.point is not None and self.named:
            return f"tried, as far as the report names it ({self.named}): {look(self.point.verdict).name}"
        if self.point is not None and self.point.run != run.id:
            run = run.model_copy(update={"scope_differs": list(self.differing)})
        return as_reported(run, [field.name for field in self.fields])

    def sentence(self, run: RunDocument) -> str:
        """How far a "no" of the current run goes, in view of what other runs of the report showed."""
        words = self.of_other_run(run) if run.scope is Scope.ELSEWHERE else ""
        if not words or self.point is None:
            return scope_words(run)
        return words if self.point.verdict in SIGHTINGS else f"{words} {UNKNOWN_PLACE}"

    def other_run(self, run: RunDocument) -> str | None:
        """The id of that other run; None without one."""
        return self.point.run if self.point is not None and self.of_other_run(run) else None

    def of_other_run(self, run: RunDocument) -> str:
        """The result of another run in what the report names; empty if the current run is that one."""
        if self.point is None or not self.named or self.point.run == run.id:
            return ""
        verdict = look(self.point.verdict).name
        return f"Another run of this report tried what the report names ({self.named}): {verdict}."


def reporters_place(
    run: RunDocument, points: Sequence[Point], environments: Mapping[str, Environment]
) -> ReportersPlace:
    """The result that is nearest to the environment of the report; `points` are newest first."""
    claimed = run.report.environment
    candidates = [
        (point, environments[point.environment])
        for point in points
        if point.environment is not None and point.environment in environments and _speaks(run, point)
    ]
    if not claimed or not candidates:
        return ReportersPlace(fields=environment_differences(run))
    counting = _counting(run, claimed)
    point, nearest = min(
        candidates,
        key=lambda pair: (
            len(_differing(counting, claimed, pair[1])),
            len(fields_that_differ(claimed, [pair[1]])),
        ),
    )
    differing = _differing(counting, claimed, nearest)
    has_version = any(name not in {"os.name", "gpu.0.model"} for name in counting)
    return ReportersPlace(
        fields=fields_that_differ(claimed, [nearest]),
        differing=differing,
        point=point,
        named=_fields_in_words(counting, nearest) if has_version and not differing else "",
    )


def _speaks(run: RunDocument, point: Point) -> bool:
    """Whether a result of our own, with the default settings, says something about the claim."""
    scripts = {script.digest for script in run.report.scripts if script.role in _SPEAKING}
    return (
        point.contributed_by is None
        and point.verdict not in _WITHOUT_RESULT
        and not point.target.settings
        and point.script in scripts
    )


def _counting(run: RunDocument, claimed: Environment) -> list[str]:
    """The named fields that make an environment the reporter's: versions of imports, card and system."""
    packages = {f"package.{name}" for name in imports_of(run)}
    names = packages | {"torch.version", "gpu.0.model", "os.name"}
    return sorted(name for name in names if isinstance(claimed.get(name), str))


def _differing(names: Sequence[str], claimed: Environment, observed: Environment) -> list[str]:
    return [name for name in names if not _agree(name, str(claimed[name]), observed.get(name))]


def _agree(name: str, claimed: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    if name == "os.name":
        return system_of(claimed) == system_of(value)
    if name == "gpu.0.model":
        one, other = claimed.casefold(), value.casefold()
        return one in other or other in one
    return same_release(claimed, value)


def _fields_in_words(names: Sequence[str], observed: Environment) -> str:
    """The agreeing fields in our own words: the reporter's text is not repeated."""
    values = {name: str(observed.get(name)) for name in names}
    return ", ".join(
        value if name in {"os.name", "gpu.0.model"} else f"{field_words(name)} {value.partition('+')[0]}"
        for name, value in values.items()
    )
