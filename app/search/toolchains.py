"""Toolchains in a search: by name, by the beginning of a name, or by a version, `torch>=2.11,<2.13`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from worker.contract.names import TOOLCHAIN_NAME
from worker.contract.versions import parse_version

FORMS = (
    "torch>=2.11, torch=2.13, torch>=2.1,<2.11, or the name of a toolchain; "
    "a * at its end matches all names that begin so"
)
_BY_VERSION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,60}?)\s*((?:[<>=!~]=?|===).+)")
_OPERATOR = re.compile(r"(?<![<>=!~])=(?!=)\s*([^,\s]+)")
# `torch-2.13-cpu` has torch 2.13, even if no known node has that toolchain any more.
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)-(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class ToolchainQuery:
    """A name of a toolchain (`torch-2.1*` is a prefix), else a package with its allowed versions."""

    name: str = ""
    package: str = ""
    versions: SpecifierSet = field(default_factory=SpecifierSet)

    def matches(self, toolchain: str, packages: Mapping[str, str]) -> bool:
        """Whether a toolchain with these packages matches. `packages` maps names to versions."""
        if self.name:
            return toolchain.startswith(self.name[:-1]) if self.name.endswith("*") else toolchain == self.name
        version = _version(self.package, toolchain, packages)
        return version is not None and self.versions.contains(version, prereleases=True)


def toolchain_query(text: str) -> ToolchainQuery | None:
    """Read the value of a toolchain field; None if it can't be read."""
    if TOOLCHAIN_NAME.fullmatch(text.removesuffix("*")):
        return ToolchainQuery(name=text)
    match = _BY_VERSION.fullmatch(text)
    if match is None or len(text) > 200:
        return None
    try:
        return ToolchainQuery(
            package=canonicalize_name(match[1]), versions=SpecifierSet(_OPERATOR.sub(_as_specifier, match[2]))
        )
    except InvalidSpecifier:
        return None


def _as_specifier(equal: re.Match[str]) -> str:
    """`=2.13` allows all versions that begin so, as 2.13.1 and 2.13.0+cu130."""
    return f"=={equal[1]}" if equal[1].endswith(".*") or "+" in equal[1] else f"=={equal[1]}.*"


def _version(package: str, toolchain: str, packages: Mapping[str, str]) -> Version | None:
    known = {str(canonicalize_name(name)): version for name, version in packages.items()}
    named = _NAMED.match(toolchain)
    if package not in known and named is not None and canonicalize_name(named[1]) == package:
        known[package] = named[2]
    return parse_version(known.get(package))


def matching_toolchains(
    queries: Iterable[ToolchainQuery], toolchains: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """The sorted names of the toolchains that match any query. `toolchains` maps names to packages."""
    queries = list(queries)
    return sorted(
        name
        for name, packages in toolchains.items()
        if any(query.matches(name, packages) for query in queries)
    )
