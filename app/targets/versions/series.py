"""A series of targets along one axis: releases of a package, versions of Python, or values of a setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from packaging.utils import canonicalize_name
from packaging.version import Version

from app.errors import InputError
from app.intake.reading import Script
from app.targets.fleet import nearest_lack, newest_first, resolve_toolchain, serves, usable_toolchains
from app.targets.packages import with_packages
from app.targets.parse import check_target
from app.targets.target import Target
from worker.contract import Hello, Level, Reason, ToolchainFacts
from worker.contract.names import SETTINGS
from worker.contract.versions import parse_version

MOST_POINTS = 400
PYTHON, THREADS, CPU_ISA = "python", "threads", "cpu-isa"
# From the path that every CPU has to the path that is chosen by default.
_ISA_ORDER = (*reversed(SETTINGS[CPU_ISA] or ()), "native")
_PYTHON = re.compile(r"\bPython (\d+\.\d+(?:\.\d+)?)")
# Prefixes of fields that change together with an axis. They are no other difference.
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
    """One value of the axis and its target. With a `lack`, no node serves it."""

    value: str
    target: Target
    lack: Reason | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The points of an axis, the oldest or lowest first."""

    axis: str
    points: tuple[Point, ...]

    def unrelated_fields(self, fields: Sequence[str]) -> list[str]:
        """The fields, of those in which environments differ, that do not follow from the axis."""
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
    """The points from `begin` to `end` on this fleet, with the device and settings of `base`.

    Raises InputError.
    """
    check_target(base)
    if axis in SETTINGS:
        if toolchains:
            raise InputError(
                f"A series over {axis} uses one toolchain: name it in the target.",
                code="bad_series",
                field="toolchain",
            )
        series = Series(
            axis, _points_of_setting(axis, base, fleet, begin=begin, end=end, required_level=required_level)
        )
    else:
        axis = canonicalize_name(axis)
        series = Series(
            axis, _points_of_versions(axis, base, fleet, begin=begin, end=end, toolchains=toolchains)
        )
    if len(series.points) > MOST_POINTS:
        raise InputError(
            f"The series has {len(series.points)} points; at most {MOST_POINTS} are allowed.",
            code="bad_series",
            field="from",
        )
    return series


def has_versions(axes: Iterable[str], fleet: Sequence[Hello]) -> bool:
    """Whether a fleet has two versions or more of one of these packages, or of Python."""
    toolchains = [facts for facts in usable_toolchains(fleet).values() if not facts.base]
    return any(
        len({release_by(canonicalize_name(axis))(facts) for facts in toolchains} - {None}) > 1
        for axis in axes
    )


def serve(series: Series, script: Script, fleet: Sequence[Hello], *, required_level: Level) -> Series:
    """The series with the packages that the script needs, and a lack for each point that no node serves."""

    def serve_point(point: Point) -> Point:
        lack = nearest_lack(fleet, point.target, required_level=required_level)
        target = (
            point.target
            if lack
            else with_packages(point.target, script, fleet, required_level=required_level)
        )
        return Point(point.value, target, lack)

    return Series(series.axis, tuple(map(serve_point, series.points)))


def _points_of_setting(
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
            f"{axis} is the axis, so the target can't set it.", code="bad_series", field="target"
        )
    if axis == THREADS:
        values = _numbers(begin or "1", end or str(max((hello.cores for hello in fleet), default=1)))
    elif axis == CPU_ISA:
        values = _between(_ISA_ORDER, begin, end)
    else:
        raise InputError(
            f"The values of {axis} have no order. "
            "Use a package such as torch or numpy, or python, threads or cpu-isa.",
            code="no_order",
            field="over",
        )
    if len(values) < 2:
        raise InputError(
            f"The series over {axis} has only {', '.join(values)}: it needs two values or more.",
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
        raise InputError("For threads, from and to must be whole numbers.", code="bad_series", field="from")
    if int(begin) > int(end):
        raise _wrong_order(begin, end)
    return [str(number) for number in range(int(begin), min(int(end), int(begin) + MOST_POINTS) + 1)]


def _between(order: Sequence[str], begin: str | None, end: str | None) -> list[str]:
    for value in (begin, end):
        if value is not None and value not in order:
            raise InputError(
                f"The values, in order, are: {', '.join(order)}.", code="bad_series", field="from"
            )
    first, last = begin or order[0], end or order[-1]
    if order.index(first) > order.index(last):
        raise _wrong_order(first, last)
    return list(order[order.index(first) : order.index(last) + 1])


def _wrong_order(begin: str, end: str) -> InputError:
    return InputError(
        f"A series begins with the oldest or lowest value, but {begin} comes after {end}: "
        "swap the begin and the end.",
        code="bad_series",
        field="from",
    )


def _points_of_versions(
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
            "No toolchain with this name is ready or can be built. "
            f"The toolchains are: {', '.join(sorted(known)) or 'none'}.",
            code="unknown_toolchain",
            field="toolchain",
        )
    chosen = [
        facts for name, facts in known.items() if (name in toolchains if toolchains else not facts.base)
    ]
    release = release_by(axis)
    lowest, highest = _bound(begin, "from"), _bound(end, "to")
    if lowest is not None and highest is not None and lowest > highest:
        raise _wrong_order(str(lowest), str(highest))
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
            f"A bisection over {axis} needs toolchains with two or more versions of it. "
            f"The versions within these bounds: {there}. "
            f"To add one, on a node: samehere toolchain add {_addition(axis)}",
            code="bad_series",
            field="over",
        )
    ordered = sorted(by_release)
    names = _most_alike([by_release[version] for version in ordered], axis)
    return tuple(
        Point(str(version), check_target(base.model_copy(update={"toolchain": name})))
        for version, name in zip(ordered, names, strict=True)
    )


def release_by(axis: str) -> Callable[[ToolchainFacts], Version | None]:
    """Gives the version of the axis that a toolchain has, without its build; None without one."""

    def release(facts: ToolchainFacts) -> Version | None:
        text = (
            python_of(facts)
            if axis == PYTHON
            else facts.torch
            if axis == "torch"
            else facts.packages.get(axis)
        )
        version = parse_version(text)
        # Builds of one release, `2.13.0+cpu` and `2.13.0+cu130`, are one point.
        return None if version is None else Version(version.public)

    return release


def python_of(facts: ToolchainFacts) -> str | None:
    """The Python version of a toolchain, from the node's description; None if it names none."""
    match = _PYTHON.search(facts.detail)
    return match[1] if match else None


def _addition(axis: str) -> str:
    """The arguments of `samehere toolchain add` for another version of the axis."""
    return (
        f"{axis}-VERSION --python VERSION PACKAGE"
        if axis == PYTHON
        else f"{axis}-VERSION --no-build '{axis}==VERSION'"
    )


def _bound(text: str | None, field: str) -> Version | None:
    version = parse_version(text)
    if text is not None and version is None:
        raise InputError(f"{field} must be a version, such as 2.1.", code="bad_series", field=field)
    return version


def _is_up_to(version: Version, highest: Version) -> bool:
    """Whether a version is not after the end. An end of `2.1` includes 2.1.3."""
    return version <= highest or version.release[: len(highest.release)] == highest.release


def _most_alike(steps: Sequence[Sequence[ToolchainFacts]], axis: str) -> list[str]:
    """One toolchain for each version, so that neighbours differ as little as possible in other packages."""
    costs: list[tuple[int, list[str]]] = [(0, [facts.name]) for facts in steps[0]]
    for before, here in pairwise(steps):
        costs = [
            min(
                (
                    (cost + other_differences(one, facts, axis), [*names, facts.name])
                    for one, (cost, names) in zip(before, costs, strict=True)
                ),
                key=lambda pair: pair[0],
            )
            for facts in here
        ]
    return min(costs, key=lambda pair: pair[0])[1]


def other_differences(one: ToolchainFacts, other: ToolchainFacts, axis: str) -> int:
    """The count of other differences between two toolchains: packages, Python and the CUDA build."""
    differing = {
        name
        for name in one.packages.keys() | other.packages.keys()
        if one.packages.get(name) != other.packages.get(name)
    }
    differing |= {PYTHON} if python_of(one) != python_of(other) else set()
    differing |= {"cuda"} if one.cuda_build != other.cuda_build else set()
    return len(differing - {axis})


def missing_cell(series: Series, older: ToolchainFacts, newer: ToolchainFacts) -> str | None:
    """The command that adds a toolchain with the newer value of the axis and all else from the older one.

    None if no toolchain can have that.
    """
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
    name = f"{older.name}-with-{series.axis}-{value.replace('+', '-')}"
    return f"samehere toolchain add {name}{interpreter} {pinned}"
