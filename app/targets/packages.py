"""Toolchains that fit the packages of a script and the versions of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name

from app.intake.reading import Need, NeedKind, Reading, Script
from app.targets.fleet import nearest_lack, newest_first, serves, usable_toolchains
from app.targets.target import Target
from worker.contract import Device, Hello, Level, ToolchainFacts
from worker.contract.names import add_layers
from worker.contract.versions import parse_version

# Nodes refuse longer names.
_MOST_NAME = 100
# Packages and the field with the reporter's version. The first package that the script needs counts.
_CLAIMED = (("torch", "torch.version"), ("numpy", "package.numpy"))


def packages_of(script: Script) -> set[str]:
    """The packages that a script imports, by their canonical names."""
    return packages_among(script.needs)


def packages_among(needs: Iterable[Need]) -> set[str]:
    """The packages among the needs of a script, by their canonical names."""
    return {canonicalize_name(need.name) for need in needs if need.kind is NeedKind.PACKAGE}


def with_packages(target: Target, script: Script, fleet: Sequence[Hello], *, required_level: Level) -> Target:
    """The target with the packages that the script needs, its toolchain lacks, and a node would add.

    Other missing packages are ignored here, since the name of a package does not always follow from an
    import.
    """
    facts = usable_toolchains(fleet).get(target.toolchain)
    if facts is None:
        return target
    missing = packages_of(script) - set(facts.packages)
    # `chinese_calendar` is imported from `chinesecalendar`: names may differ in their signs.
    present = {_bare(name) for name in facts.packages}
    bare = {_bare(name) for name in missing} - present
    allowed = [{name for name in hello.packages_allowed if _bare(name) in bare} for hello in fleet]
    for packages in sorted(allowed, key=len, reverse=True):
        layered = (
            target.model_copy(update={"toolchain": add_layers(target.toolchain, packages)})
            if packages
            else target
        )
        if (
            len(layered.toolchain) <= _MOST_NAME
            and nearest_lack(fleet, layered, required_level=required_level) is None
        ):
            return layered
    return target


def _bare(name: str) -> str:
    """A canonical name without its signs."""
    return name.replace("-", "")


def versions_for(script: Script, device: Device, fleet: Sequence[Hello]) -> list[str]:
    """All toolchains for a device that have the packages of a script, newest first.

    Packages that nodes may add do not have to be there, unless another toolchain has them.
    """
    able = _able(fleet, device)
    addable = {package for hello in fleet for package in hello.packages_allowed}
    needed = {package for package in packages_of(script) if any(package in facts.packages for facts in able)}
    fitting = [facts for facts in able if needed <= {*facts.packages, *addable}]
    having = [facts for facts in fitting if needed & set(facts.packages)] if needed else fitting
    return [facts.name for facts in newest_first(having, device)]


def nearest_to_claim(reading: Reading, device: Device, fleet: Sequence[Hello]) -> str | None:
    """The toolchain with the version nearest to the reporter's; None without a useful version."""
    needed = {package for script in reading.scripts for package in packages_of(script)}
    for package, field in _CLAIMED:
        claimed = _release(reading.environment.get(field))
        if claimed is None or package not in needed:
            continue
        # If two are equally near, the newest one wins.
        distances = [
            (abs(version - claimed), facts.name)
            for facts in newest_first(_able(fleet, device), device)
            if (version := _release(_version(facts, package))) is not None
        ]
        return min(distances, key=lambda pair: pair[0])[1] if distances else None
    return None


def _able(fleet: Sequence[Hello], device: Device) -> list[ToolchainFacts]:
    return [facts for facts in usable_toolchains(fleet).values() if serves(facts, device) and not facts.base]


def _version(facts: ToolchainFacts, package: str) -> str | None:
    return facts.torch if package == "torch" else facts.packages.get(package)


def _release(version: object) -> int | None:
    """One number that sorts by major, minor and micro; None without a valid version."""
    parsed = parse_version(version)
    return (
        None
        if parsed is None
        else (parsed.major * 1000 + min(parsed.minor, 999)) * 1000 + min(parsed.micro, 999)
    )
