"""The one cell more that may give a run a contrast: a cheap target on which the claim may not be seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from app.intake.claim.claims import Check, Claim, Role
from app.intake.claim.stated_place import working_versions
from app.intake.claim.subject import PYTHON
from app.intake.reading import Script
from app.targets.fleet import usable
from app.targets.packages import packages_of, versions_for
from app.targets.planning.cause_tests import LAYERS, compiles
from app.targets.planning.plan import Cell, Plan, plan_cell
from app.targets.planning.presets import Preset
from app.targets.target import Target
from app.targets.versions.series import other_differences, release_by
from worker.contract import Hello, Level, ToolchainFacts
from worker.contract.names import split_layers

_COMPILE, _EAGER = "compile", LAYERS[0]


def may_have_contrast_cell(plan: Plan, preset: Preset | None) -> bool:
    """Whether a run of this plan may get such a cell. Not one that names its cells itself.

    Those are runs of chosen targets, with an `exclude`, or with a preset over all toolchains or of the
    operator.
    """
    return preset is not None and not (preset.versions or preset.own or plan.is_closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A script, the target on which its claim was seen, and the targets that need not be tried again."""

    claim: Claim
    script: Script
    seen: Target
    ran: tuple[Target, ...]


def contrast_cell(
    sighting: Sighting, text: str, *, fleet: Sequence[Hello], required_level: Level
) -> Cell | None:
    """The cell that may give a contrast, the one that is worth most first; None if no node serves any.

    In this order: a version that the report (`text`) calls working or leaves out, the uncompiled script if it
    compiles, the nearest older version of the package that the claim is about, the nearest newer one.
    Only toolchains that a node has ready are cheap; packages may be added to them.
    """
    labels = {target.label() for target in sighting.ran}
    for target in _targets(sighting, text, fleet):
        cell = plan_cell(sighting.script, target, fleet, required_level=required_level, explicit=False)
        if cell.reason is None and cell.target.label() not in labels:
            return cell
    return None


def _targets(sighting: Sighting, text: str, fleet: Sequence[Hello]) -> Iterator[Target]:
    """The targets in the order of their worth."""
    likely, others = _versions(sighting, text, fleet)
    yield from likely
    seen = sighting.seen
    if compiles(sighting.script.script) and _COMPILE not in seen.settings:
        yield seen.model_copy(update={"settings": {**seen.settings, _COMPILE: _EAGER}})
    yield from others


def _versions(sighting: Sighting, text: str, fleet: Sequence[Hello]) -> tuple[list[Target], list[Target]]:
    """The targets with other versions of the subject: those that the report clears, and others."""
    chains = _ready(fleet)
    ran = {_base(target.toolchain, chains) for target in sighting.ran}
    base = chains.get(_base(sighting.seen.toolchain, chains))
    names = [name for name in versions_for(sighting.script, sighting.seen.device, fleet) if name in chains]
    if base is None:
        return [], []
    for axis in _axes(sighting):
        release = release_by(axis)
        present, own = release(base), {release(chains[name]) for name in ran if name in chains}
        known = [(version, chains[name]) for name in names if (version := release(chains[name])) is not None]
        places = [place for place in known if place[0] not in own]
        if present is None or not places:
            continue
        # The toolchain that differs least comes first among those of one version.
        places.sort(key=lambda place: other_differences(place[1], base, axis))
        ordered = sorted((place for place in places if place[0] < present), key=_version, reverse=True)
        ordered += sorted((place for place in places if place[0] > present), key=_version)
        named = [place for place in ordered if _is_named(place[0], axis, text)]
        spared = [place for place in ordered if place not in named and _is_spared(place[0], axis, sighting)]
        others = [place for place in ordered if place not in named and place not in spared]
        return _with_toolchains(sighting.seen, [*named, *spared]), _with_toolchains(sighting.seen, others)
    return [], []


def _version(place: tuple[Version, ToolchainFacts]) -> Version:
    return place[0]


def _with_toolchains(target: Target, places: Sequence[tuple[Version, ToolchainFacts]]) -> list[Target]:
    return [target.model_copy(update={"toolchain": facts.name}) for _, facts in places]


def _ready(fleet: Sequence[Hello]) -> dict[str, ToolchainFacts]:
    """The toolchains that a node has ready, without those with packages that were added for a report."""
    return {
        name: facts
        for hello in fleet
        for name, facts in usable(hello).items()
        if facts.state == "ready" and not facts.base
    }


def _base(toolchain: str, known: Collection[str]) -> str:
    layers = split_layers(toolchain, known)
    return toolchain if layers is None else layers[0]


def _axes(sighting: Sighting) -> list[str]:
    """The packages whose version may matter: the subject of the claim, else what the script imports."""
    subject = sighting.claim.subject
    if subject is not None:
        return [subject]
    imported = packages_of(sighting.script)
    return sorted(imported, key=lambda name: (name != "torch", name)) or [PYTHON]


def _is_named(version: Version, axis: str, text: str) -> bool:
    """Whether the report calls a version of the axis working."""
    return any(
        one.package in {axis, ""} and one.release == version.release[: len(one.release)]
        for one in working_versions(text)
    )


def _is_spared(version: Version, axis: str, sighting: Sighting) -> bool:
    """Whether the report limits the bug to other versions of the axis."""
    limits = [
        limit
        for check in sighting.claim.having(Role.BUG)
        if axis == (PYTHON if _is_of_python(check) else check.where.package or "torch")
        if (limit := _limit(check)) is not None
    ]
    return bool(limits) and not any(limit.contains(version, prereleases=True) for limit in limits)


def _is_of_python(check: Check) -> bool:
    return (check.where.version or "").startswith(PYTHON)


def _limit(check: Check) -> SpecifierSet | None:
    """The versions to which a check is limited; None without a limit that can be read."""
    version = (check.where.version or "").removeprefix(PYTHON).strip()
    text = check.where.range or (version if version.startswith(">=") else version and f"=={version}.*")
    try:
        return SpecifierSet(text) if text else None
    except InvalidSpecifier:
        return None
