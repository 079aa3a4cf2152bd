"""Versions as an axis: which of two environments is the older one, and whether one version is all that differs between them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from app.judging.check.places import release_of
from app.judging.comparison.environments import differing_fields
from worker.contract import Environment

# What comes with a release of torch, and what it says of itself, which another release may say in another way.
_WITH_TORCH = (
    *("torch.", "onednn.", "blas.", "cuda.arch_list", "cuda.available", "cudnn.", "nccl."),
    *("threads.", "deterministic.", "default.", "tf32.", "float32_matmul_precision", "precision.", "matmul."),
)
# A CPU build and a CUDA build of one release are two things.
_BUILD = "torch.cuda_build"
_FOLLOWS = {"torch": _WITH_TORCH, "numpy": ("blas.",), "python": ("python.",)}
# These decide results whatever a script imports by name.
_ALWAYS = ("torch", "numpy", "python")
_FIELDS = {"torch": "torch.version", "python": "python.version"}

Age = tuple[Version, Version, Version, tuple[int, ...], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisDifference:
    """What differs between two environments. Without `confounders` the axis is all of it; without an axis as well nothing that is known is.

    `versions` are those that differ, as found on both sides, the axis if there is one; `machine` is what they don't explain.
    """

    versions: tuple[tuple[str, tuple[str, str]], ...] = ()
    machine: tuple[str, ...] = ()

    @property
    def axis(self) -> str | None:
        """The package whose version differs; None where none or more than one does."""
        return self.versions[0][0] if len(self.versions) == 1 else None

    @property
    def confounders(self) -> tuple[str, ...]:
        """The names of fields that may explain a result beside one version."""
        packages = tuple(_FIELDS.get(name, f"package.{name}") for name, _ in self.versions)
        return (*packages, *self.machine) if len(packages) > 1 else self.machine


def age_of(environment: Environment, toolchain: str) -> Age:
    """Sorts by torch, numpy and Python as found, then by what the toolchain is called."""
    torch, numpy, python = (_version(_found(environment, package)) for package in _ALWAYS)
    return torch, numpy, python, release_of(toolchain), toolchain


def differs_by(before: Environment, after: Environment, *, imported: Collection[str]) -> AxisDifference:
    """Compare two environments of one script; `imported` are the packages that it imports, as indexes call them."""
    fields = [name for name in differing_fields(before, after) if _counts(name, imported)]
    packages = sorted({package for name in fields if (package := _package(name)) is not None}, key=_weight)
    explained = tuple(begin for package in packages for begin in _FOLLOWS.get(package, ()))
    return AxisDifference(
        versions=tuple((package, (_found(before, package), _found(after, package))) for package in packages),
        machine=tuple(
            name
            for name in fields
            if _package(name) is None
            and (
                not name.startswith(explained)
                or (name == _BUILD and not (before.get(name) and after.get(name)))
            )
        ),
    )


def of_versions(fields: Collection[str]) -> bool:
    """Whether versions are among these fields, so that another machine would not do."""
    return any(_package(name) is not None for name in fields)


def _weight(package: str) -> tuple[int, str]:
    return (_ALWAYS.index(package) if package in _ALWAYS else len(_ALWAYS)), package


def _counts(name: str, imported: Collection[str]) -> bool:
    """Whether a field may explain a result: of packages only those that the script imports, and what always counts."""
    package = name.removeprefix("package.")
    return package == name or package in imported or package in _ALWAYS


def _package(name: str) -> str | None:
    """The package whose version a field is."""
    if name in {"torch.version", "python.version"}:
        return name.partition(".")[0]
    package = name.removeprefix("package.")
    # As torch says it of itself.
    return None if package == name else package


def _found(environment: Environment, package: str) -> str:
    """The version of a package, as found; empty where there is none."""
    names = {"torch": ("torch.version", "package.torch"), "python": ("python.version",)}.get(
        package, (f"package.{package}",)
    )
    return next((found for name in names if isinstance(found := environment.get(name), str)), "")


def _version(text: str) -> Version:
    try:
        return Version(text or "0")
    except InvalidVersion:
        return Version("0")
