"""A series of targets that differ along one axis with an order: releases of a package, versions of Python, or a setting's values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from app.errors import InputError
from app.intake.reading import Script
from app.targets.fleet import nearest_lack, newest_first, resolve_toolchain, serves, usable_toolchains
from app.targets.packages import with_packages
from app.targets.parse import check_target
from app.targets.target import Target
from worker.contract import Hello, Level, Reason, ToolchainFacts
from worker.contract.names import SETTINGS

MOST_POINTS = 400
PYTHON, THREADS, CPU_ISA = "python", "threads", "cpu-isa"
# From the path that every CPU has to what the CPU gets by itself.
_ISA_ORDER = (*reversed(SETTINGS[CPU_ISA] or ()), "native")
_PYTHON = re.compile(r"\bPython (\d+\.\d+(?:\.\d+)?)")
# What changes with an axis by itself: two environments that differ in nothing else differ in that axis alone.
_FOLLOWING: Mapping[str, tuple[str, ...]] = {
    "torch": (
        "torch.",
        "blas.",
        "onednn.",
        "cuda.",
        "cudnn.",
        "tf32.",
        "precision.",
        "default.",
        "package.triton",
        "package.nvidia-",
    ),
    PYTHON: ("python.",),
    THREADS: ("threads.",),
    CPU_ISA: ("blas.", "onednn.", "torch.cpu_capability"),
}


@dataclass(frozen=True, slots=True)
class Point:
    """One value of the axis, and the target that has it. With a `lack` no node serves it."""

    value: str
    target: Target
    lack: Reason | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The points, the oldest or lowest first."""

    axis: str
    points: tuple[Point, ...]

    def others_of(self, fields: Sequence[str]) -> list[str]:
        """Of fields in which environments differ, those that do not follow from the axis."""
        own = (f"package.{self.axis}", *_FOLLOWING.get(self.axis, ()))
        return [
            name
            for name in fields
            if name != own[0] and not name.startswith((*own[1:], "variable.", "blas.fingerprint"))
        ]


def make_series(
    axis: str,
    base: Target,
    fleet: Sequence[Hello],
    *,
    begin: str | None = None,
    end: str | None = None,
    toolchains: Sequence[str] = (),
    required_level: Level,
) -> Series:
    """The points from `begin` to `end`, over what the fleet has; the base's device and settings hold everywhere. Raises InputError."""
    check_target(base)
    if axis in SETTINGS:
        if toolchains:
            raise InputError(
                f"Over {axis} one toolchain is used: name it by --target.",
                code="bad_series",
                field="toolchain",
            )
        series = Series(
            axis, _of_setting(axis, base, fleet, begin=begin, end=end, required_level=required_level)
        )
    else:
        axis = canonicalize_name(axis)
        series = Series(axis, _of_versions(axis, base, fleet, begin=begin, end=end, toolchains=toolchains))
    if len(series.points) > MOST_POINTS:
        raise InputError(
            f"The series has {len(series.points)} points; it may have {MOST_POINTS}.",
            code="bad_series",
            field="from",
        )
    return series


def served(series: Series, script: Script, fleet: Sequence[Hello], *, required_level: Level) -> Series:
    """The series with what the script needs added where a node would, and with what no node serves marked."""

    def whole(point: Point) -> Point:
        lack = nearest_lack(fleet, point.target, required_level=required_level)
        target = (
            point.target
            if lack
            else with_packages(point.target, script, fleet, required_level=required_level)
        )
        return Point(point.value, target, lack)

    return Series(series.axis, tuple(map(whole, series.points)))


def _of_setting(
    axis: str,
    base: Target,
    fleet: Sequence[Hello],
    *,
    begin: str | None,
    end: str | None,
    required_level: Level,
) -> tuple[Point, ...]:
    if axis in base.settings:
        raise InputError(
            f"{axis} is the axis, and can't be fixed as well.", code="bad_series", field="target"
        )
    if axis == THREADS:
        values = _numbers(begin or "1", end or str(max((hello.cores for hello in fleet), default=1)))
    elif axis == CPU_ISA:
        values = _between(_ISA_ORDER, begin, end)
    else:
        raise InputError(
            f"The values of {axis} have no order. What has: a package such as torch or numpy, python, threads, cpu-isa.",
            code="no_order",
            field="over",
        )
    if len(values) < 2:
        raise InputError(
            f"The series over {axis} is {', '.join(values)}: two values or more are needed.",
            code="bad_series",
            field="from",
        )
    toolchain = resolve_toolchain(fleet, base, required_level=required_level) or base.toolchain

    def target(value: str) -> Target:
        own = {} if value == _ISA_ORDER[-1] else {axis: value}
        return check_target(
            base.model_copy(update={"toolchain": toolchain, "settings": {**base.settings, **own}})
        )

    return tuple(Point(value, target(value)) for value in values)


def _numbers(begin: str, end: str) -> list[str]:
    if not (re.fullmatch(r"[0-9]{1,4}", begin) and re.fullmatch(r"[0-9]{1,4}", end)):
        raise InputError("Over threads, --from and --to are whole numbers.", code="bad_series", field="from")
    if int(begin) > int(end):
        raise _swapped(begin, end)
    return [str(number) for number in range(int(begin), min(int(end), int(begin) + MOST_POINTS) + 1)]


def _between(order: Sequence[str], begin: str | None, end: str | None) -> list[str]:
    for value in (begin, end):
        if value is not None and value not in order:
            raise InputError(
                f"The values are, in their order: {', '.join(order)}.", code="bad_series", field="from"
            )
    first, last = begin or order[0], end or order[-1]
    if order.index(first) > order.index(last):
        raise _swapped(first, last)
    return list(order[order.index(first) : order.index(last) + 1])


def _swapped(begin: str, end: str) -> InputError:
    return InputError(
        f"A series begins with the oldest or the lowest, and {begin} comes after {end}: swap where it begins and where it ends.",
        code="bad_series",
        field="from",
    )


def _of_versions(
    axis: str,
    base: Target,
    fleet: Sequence[Hello],
    *,
    begin: str | None,
    end: str | None,
    toolchains: Sequence[str],
) -> tuple[Point, ...]:
    known = {name: facts for name, facts in usable_toolchains(fleet).items() if serves(facts, base.device)}
    unknown = [name for name in toolchains if name not in known]
    if unknown:
        raise InputError(
            f"There is no toolchain of this name that is ready or can be built. There are: {', '.join(sorted(known)) or 'none'}.",
            code="unknown_toolchain",
            field="toolchain",
        )
    chosen = [
        facts for name, facts in known.items() if (name in toolchains if toolchains else not facts.base)
    ]
    release = _release_of(axis)
    lowest, highest = _bound(begin, "--from"), _bound(end, "--to")
    if lowest is not None and highest is not None and lowest > highest:
        raise _swapped(str(lowest), str(highest))
    by_release: dict[Version, list[ToolchainFacts]] = {}
    for facts in newest_first(chosen, base.device):
        version = release(facts)
        if (
            version is not None
            and (lowest is None or version >= lowest)
            and (highest is None or _is_up_to(version, highest))
        ):
            by_release.setdefault(version, []).append(facts)
    if len(by_release) < 2:
        there = ", ".join(map(str, sorted(by_release))) or "none"
        raise InputError(
            f"A bisection over {axis} needs toolchains with two versions of it or more; within these bounds there are: {there}. "
            f"More are added by: samehere toolchain add {_addition(axis)}",
            code="bad_series",
            field="over",
        )
    ordered = sorted(by_release)
    names = _most_alike([by_release[version] for version in ordered], axis)
    return tuple(
        Point(str(version), check_target(base.model_copy(update={"toolchain": name})))
        for version, name in zip(ordered, names, strict=True)
    )


def _release_of(axis: str) -> Callable[[ToolchainFacts], Version | None]:
    def release(facts: ToolchainFacts) -> Version | None:
        text = (
            python_of(facts)
            if axis == PYTHON
            else facts.torch
            if axis == "torch"
            else facts.packages.get(axis)
        )
        try:
            # Two builds of one release, `2.13.0+cpu` and `2.13.0+cu130`, are one point.
            return Version(Version(text or "").public)
        except InvalidVersion:
            return None

    return release


def python_of(facts: ToolchainFacts) -> str | None:
    """The version of a toolchain's interpreter, as the node tells it."""
    found = _PYTHON.search(facts.detail)
    return found[1] if found else None


def _addition(axis: str) -> str:
    """What follows `samehere toolchain add`: an interpreter is no package."""
    return (
        f"{axis}-VERSION --python VERSION PACKAGE"
        if axis == PYTHON
        else f"{axis}-VERSION --no-build '{axis}==VERSION'"
    )


def _bound(text: str | None, option: str) -> Version | None:
    try:
        return None if text is None else Version(text)
    except InvalidVersion as error:
        raise InputError(f"{option} is a version, such as 2.1.", code="bad_series", field=option) from error


def _is_up_to(version: Version, highest: Version) -> bool:
    """`2.1` as the end of a series includes 2.1.3."""
    return version <= highest or version.release[: len(highest.release)] == highest.release


def _most_alike(steps: Sequence[Sequence[ToolchainFacts]], axis: str) -> list[str]:
    """One toolchain a version, so that neighbours differ in as little else as can be; of equals the first."""
    costs: list[tuple[int, list[str]]] = [(0, [facts.name]) for facts in steps[0]]
    for before, here in pairwise(steps):
        costs = [
            min(
                (
                    (cost + _otherwise(one, facts, axis), [*names, facts.name])
                    for one, (cost, names) in zip(before, costs, strict=True)
                ),
                key=lambda pair: pair[0],
            )
            for facts in here
        ]
    return min(costs, key=lambda pair: pair[0])[1]


def _otherwise(one: ToolchainFacts, other: ToolchainFacts, axis: str) -> int:
    """How many packages two toolchains differ in, Python and the build for a card among them, but for the axis."""
    differing = {
        name
        for name in one.packages.keys() | other.packages.keys()
        if one.packages.get(name) != other.packages.get(name)
    }
    differing |= {PYTHON} if python_of(one) != python_of(other) else set()
    differing |= {"cuda"} if one.cuda_build != other.cuda_build else set()
    return len(differing - {axis})


def missing_cell(series: Series, older: ToolchainFacts, newer: ToolchainFacts) -> str | None:
    """The command that makes the toolchain of the newer value with all else as in the older; None where no toolchain would."""
    if series.axis in SETTINGS:
        return None
    packages = {
        name: version
        for name, version in older.packages.items()
        if name not in {"pip", "setuptools", "wheel"}
    }
    python = python_of(newer if series.axis == PYTHON else older)
    value = python if series.axis == PYTHON else newer.packages.get(series.axis)
    if value is None:
        return None
    if series.axis != PYTHON:
        packages[series.axis] = value
    pinned = " ".join(f"'{name}=={version}'" for name, version in sorted(packages.items()) if version)
    interpreter = f" --python {'.'.join(python.split('.')[:2])}" if python else ""
    return f"samehere toolchain add {older.name}-with-{series.axis}-{value.replace('+', '-')}{interpreter} {pinned}"
