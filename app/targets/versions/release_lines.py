"""The release lines of toolchains: 2.4.0 and 2.4.6 are of one line, so a newer patch hides nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from worker.contract import ToolchainFacts
from worker.contract.versions import parse_version


@dataclass(frozen=True, slots=True)
class RankedToolchain:
    """A toolchain with its main package; the newest release line of that package is number 0."""

    name: str
    package: str
    line: int


def with_lines(known: Sequence[ToolchainFacts]) -> list[RankedToolchain]:
    """The toolchains with the numbers of their release lines. `known` is sorted, newest first."""
    lines: dict[str, list[str]] = {}
    for facts in known:
        of_package = lines.setdefault(main_package(facts), [])
        if _line(facts) not in of_package:
            of_package.append(_line(facts))
    return [
        RankedToolchain(facts.name, main_package(facts), lines[main_package(facts)].index(_line(facts)))
        for facts in known
    ]


def newest_among(known: Sequence[ToolchainFacts]) -> list[str]:
    """The toolchains with the newest torch, and those without torch that have the newest numpy.

    `known` is sorted, newest first. A release can have several builds, one for each device.
    """
    newest = {main_package(facts): _release(facts) for facts in reversed(known)}
    return [facts.name for facts in known if _release(facts) == newest[main_package(facts)]]


def newest_tried(
    known: Sequence[ToolchainFacts], with_results: Collection[str]
) -> tuple[list[str], list[str]]:
    """For each package its newest toolchains with results, and the newest ones without."""
    tried = newest_among([facts for facts in known if facts.name in with_results])
    return tried, [name for name in newest_among(known) if name not in with_results]


def main_package(facts: ToolchainFacts) -> str:
    """The package whose versions order the toolchain: torch, else numpy, else none."""
    return "torch" if facts.torch else "numpy" if "numpy" in facts.packages else ""


def _release(facts: ToolchainFacts) -> str:
    """The version of the main package, without its build."""
    version = facts.torch or facts.packages.get("numpy") or facts.name
    return version.partition("+")[0]


def _line(facts: ToolchainFacts) -> str:
    """The major and minor version of the main package: `2.4` for 2.4.6."""
    release = _release(facts)
    version = parse_version(release)
    return release if version is None else f"{version.major}.{version.minor}"
