"""Tells how each need of a script ended in a run: exercised, substituted by something else, or unverified.

A "no" says nothing about what was not exercised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from packaging.utils import canonicalize_name
from pydantic import BaseModel, ConfigDict

from app.intake.reading import Need, NeedKind
from app.judging.check.places import same_release, system_of
from worker.contract import Environment, Outcome, Result

_PACKAGE = "package."
_MOST_NEEDS = 40
_MOST_VERSIONS = 3
# Nothing of the sandbox's limits stood in the way of these.
_WITHIN_MEMORY = {Outcome.COMPLETED, Outcome.RAISED, Outcome.EXITED, Outcome.CRASHED}
_MISSING = {
    NeedKind.FILE: "the file is not in the report",
    NeedKind.NETWORK: "a script has no network here",
    NeedKind.ARGUMENTS: "it ran without arguments",
    NeedKind.INPUT: "it ran without input",
}


class NeedStatus(StrEnum):
    """How a need ended."""

    EXERCISED = "exercised"
    SUBSTITUTED = "substituted"
    UNVERIFIED = "unverified"


class NeedOutcome(BaseModel):
    """A need, how it ended in a run, and with what or why, in words."""

    model_config = ConfigDict(frozen=True)

    kind: NeedKind
    name: str = ""
    status: NeedStatus
    by: str = ""


def outcomes_of_needs(
    needs: Iterable[Need], ignored: Iterable[Need], results: Sequence[Result], reporters: Environment
) -> list[NeedOutcome]:
    """The outcome of each need. `results` are those that are evidence, and `ignored` what nobody looked at.

    `reporters` is the environment of the reporter: another release than theirs is a substitute.
    """
    unique = {(need.kind, need.name): need for need in needs}
    outcomes = [_outcome(need, results, reporters) for need in unique.values()]
    outcomes += [
        _without_evidence(need, "the submitter asked to run it without")
        for need in {(need.kind, need.name): need for need in ignored}.values()
    ]
    return outcomes[:_MOST_NEEDS]


def _outcome(need: Need, results: Sequence[Result], reporters: Environment) -> NeedOutcome:
    if not results or need.kind in _MISSING:
        return _without_evidence(need, _MISSING.get(need.kind, "nothing ran"))
    if need.kind is NeedKind.PACKAGE:
        return _of_package(need, results, reporters)
    if need.kind is NeedKind.MEMORY:
        return _of_memory(need, results)
    return _of_system(need, results) if need.kind is NeedKind.OS else _of_device(need, results)


def _of_memory(need: Need, results: Sequence[Result]) -> NeedOutcome:
    is_enough = any(result.outcome in _WITHIN_MEMORY for result in results)
    return _with_evidence(need, ()) if is_enough else _without_evidence(need, "no attempt had enough memory")


def _of_system(need: Need, results: Sequence[Result]) -> NeedOutcome:
    systems = _values("os.name", (result.environment for result in results))
    same = [system for system in systems if system_of(system) == system_of(need.name)]
    return (
        _with_evidence(need, same)
        if same
        else _without_evidence(need, f"it ran on {_list_of(systems) or 'another'}")
    )


def _of_package(need: Need, results: Sequence[Result], reporters: Environment) -> NeedOutcome:
    name = _PACKAGE + canonicalize_name(need.name)
    versions = _values(name, (result.environment for result in results))
    if not versions:
        return _without_evidence(need, "it was not installed")
    other = str(reporters.get(name, ""))
    if not other or any(same_release(other, version) for version in versions):
        return _with_evidence(need, versions)
    by = f"{_list_of(versions)} in place of {other}"
    return NeedOutcome(kind=need.kind, name=need.name, status=NeedStatus.SUBSTITUTED, by=by)


def _of_device(need: Need, results: Sequence[Result]) -> NeedOutcome:
    kind = "cuda" if need.kind is NeedKind.GPU else need.name.partition(":")[0]
    users = [
        result
        for result in results
        if any(device.partition(":")[0] == kind for device in result.observation.devices_used)
    ]
    if users:
        return _with_evidence(need, _values("gpu.0.model", (result.environment for result in users)))
    return _without_evidence(need, "no attempt used one")


def _with_evidence(need: Need, by: Iterable[str]) -> NeedOutcome:
    return NeedOutcome(kind=need.kind, name=need.name, status=NeedStatus.EXERCISED, by=_list_of(by))


def _without_evidence(need: Need, why: str) -> NeedOutcome:
    return NeedOutcome(kind=need.kind, name=need.name, status=NeedStatus.UNVERIFIED, by=why)


def _values(field: str, environments: Iterable[Mapping[str, object]]) -> list[str]:
    """The values of a field, each once."""
    return list(dict.fromkeys(str(each[field]) for each in environments if each.get(field)))


def _list_of(values: Iterable[str]) -> str:
    every = list(values)
    more = f" and {len(every) - _MOST_VERSIONS} more" if len(every) > _MOST_VERSIONS else ""
    return ", ".join(every[:_MOST_VERSIONS]) + more
