"""Which toolchains a search means: by name, by the beginning of a name, or by the version of a package, `torch>=2.11,<2.13`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

FORMS = "torch>=2.11, torch=2.13, torch>=2.1,<2.11, or the name of a toolchain, with * at its end for all that begin so"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_WISH = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,60}?)\s*((?:[<>=!~]=?|===).+)")
_OPERATOR = re.compile(r"(?<![<>=!~])=(?!=)\s*([^,\s]+)")
# `torch-2.13-cpu` holds torch 2.13, also when no node that is known has it any more.
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)-(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class ToolchainWish:
    """What a search wants of a toolchain: of `package` a version among `versions`, else a name."""

    name: str = ""
    package: str = ""
    versions: SpecifierSet = field(default_factory=SpecifierSet)

    def means(self, toolchain: str, packages: Mapping[str, str]) -> bool:
        """Whether a toolchain with these packages is meant."""
        if self.name:
            return toolchain.startswith(self.name[:-1]) if self.name.endswith("*") else toolchain == self.name
        version = _version(self.package, toolchain, packages)
        return version is not None and self.versions.contains(version, prereleases=True)


def wish_of(text: str) -> ToolchainWish | None:
    """What a text wants; None where it can't be read."""
    if NAME.fullmatch(text.removesuffix("*")):
        return ToolchainWish(name=text)
    found = _WISH.fullmatch(text)
    if found is None or len(text) > 200:
        return None
    try:
        return ToolchainWish(
            package=canonicalize_name(found[1]), versions=SpecifierSet(_OPERATOR.sub(_as_specifier, found[2]))
        )
    except InvalidSpecifier:
        return None


def _as_specifier(equal: re.Match[str]) -> str:
    """`=2.13` is 2.13 with whatever comes behind: 2.13.1, 2.13.0+cu130."""
    return f"=={equal[1]}" if equal[1].endswith(".*") or "+" in equal[1] else f"=={equal[1]}.*"


def _version(package: str, toolchain: str, packages: Mapping[str, str]) -> Version | None:
    known = {str(canonicalize_name(name)): version for name, version in packages.items()}
    named = _NAMED.match(toolchain)
    if package not in known and named is not None and canonicalize_name(named[1]) == package:
        known[package] = named[2]
    try:
        return Version(known[package])
    except (KeyError, InvalidVersion):
        return None


def meant(wishes: Iterable[ToolchainWish], toolchains: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The names of those toolchains, of these with their packages, that one of the wishes means."""
    asked = list(wishes)
    return sorted(
        name for name, packages in toolchains.items() if any(wish.means(name, packages) for wish in asked)
    )
