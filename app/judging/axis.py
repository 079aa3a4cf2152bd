"""Versions as an axis: which of two environments is the older one, and whether one version is all that differs between them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from app.judging.environments import differing_fields
from app.judging.places import release_of
from worker.contract import Environment

# What comes with a release of torch, or is pinned by it.
_WITH_TORCH = (
    *("torch.", "onednn.", "blas.", "cuda.arch_list", "cuda.build", "cudnn.", "nccl.", "package.nvidia-", "package.cuda-"),
    *(f"package.{name}" for name in ("triton", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "filelock")),
    "package.pytorch-triton",
)
_FOLLOWS = {"torch": _WITH_TORCH, "numpy": ("blas.",), "python": ("python.",)}
# These decide results whatever a script imports by name.
_ALWAYS = ("torch", "numpy", "python")

Age = tuple[Version, Version, Version, tuple[int, ...], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisDifference:
    """What differs between two environments: the versions that do, and beside the one axis all else that may explain a result.

    `axis` is None where no version or more than one differs. Without a `confounder` the axis is all that differs; without both nothing
    that is known does.
    """

    axis: str | None
    older: str = ""
    newer: str = ""
    confounders: tuple[str, ...] = ()


def age_of(environment: Environment, toolchain: str) -> Age:
    """Sorts by torch, numpy and Python as found, then by what the toolchain is called."""
    torch, numpy, python = (_version(_found(environment, package)) for package in _ALWAYS)
    return torch, numpy, python, release_of(toolchain), toolchain


def differs_by(before: Environment, after: Environment, *, imported: Collection[str]) -> AxisDifference:
    """Compare two environments of one script; `imported` are the packages that it imports, as indexes call them."""
    fields = [name for name in differing_fields(before, after) if _counts(name, imported)]
    packages = list(dict.fromkeys(package for name in fields if (package := _package(name)) is not None))
    axis = packages[0] if len(packages) == 1 else None
    beside = [name for name in fields if axis is None or not (_package(name) == axis or name.startswith(_FOLLOWS.get(axis, ())))]
    return AxisDifference(
        axis=axis,
        older=_found(before, axis) if axis else "",
        newer=_found(after, axis) if axis else "",
        confounders=tuple(beside),
    )


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
    names = {"torch": ("torch.version", "package.torch"), "python": ("python.version",)}.get(package, (f"package.{package}",))
    return next((found for name in names if isinstance(found := environment.get(name), str)), "")


def _version(text: str) -> Version:
    try:
        return Version(text or "0")
    except InvalidVersion:
        return Version("0")
