"""The versions in which two environments differ, and the order of environments by version."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from packaging.version import Version

from app.judging.check.places import release_of
from app.judging.comparison.environments import differing_fields
from worker.contract import Environment
from worker.contract.versions import NO_VERSION, parse_version

# Fields that follow from the release of torch.
_WITH_TORCH = (
    *("torch.", "onednn.", "blas.", "cuda.arch_list", "cuda.available", "cudnn.", "nccl."),
    *("threads.", "deterministic.", "default.", "tf32.", "float32_matmul_precision", "precision.", "matmul."),
)
# A CPU build and a CUDA build of one release are different builds.
_BUILD = "torch.cuda_build"
_FOLLOWS = {"torch": _WITH_TORCH, "numpy": ("blas.",), "python": ("python.",)}
# These versions matter for every script, whatever it imports.
_ALWAYS = ("torch", "numpy", "python")
_FIELDS = {"torch": "torch.version", "python": "python.version"}

Age = tuple[Version, Version, Version, tuple[int, ...], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisDifference:
    """The difference between two environments.

    `versions` are the packages that differ, with the version on each side. `machine` are the other fields
    that differ and do not follow from these versions. Without `confounders` at most one version differs, the
    `axis`.
    """

    versions: tuple[tuple[str, tuple[str, str]], ...] = ()
    machine: tuple[str, ...] = ()

    @property
    def axis(self) -> str | None:
        """The only package whose version differs; None if there is none or more than one."""
        return self.versions[0][0] if len(self.versions) == 1 else None

    @property
    def confounders(self) -> tuple[str, ...]:
        """The fields that may explain another result besides the one version."""
        packages = tuple(_FIELDS.get(name, f"package.{name}") for name, _ in self.versions)
        return (*packages, *self.machine) if len(packages) > 1 else self.machine


def age_of(environment: Environment, toolchain: str) -> Age:
    """A sort key: the versions of torch, numpy and Python, then the name of the toolchain."""
    torch, numpy, python = (_version(version_text(environment, package)) for package in _ALWAYS)
    return torch, numpy, python, release_of(toolchain), toolchain


def differs_by(before: Environment, after: Environment, *, imported: Collection[str]) -> AxisDifference:
    """Compare two environments of one script. `imported` are the names of the packages that it imports."""
    fields = [name for name in differing_fields(before, after) if _counts(name, imported)]
    packages = sorted({package for name in fields if (package := _package(name)) is not None}, key=_weight)
    explained = tuple(begin for package in packages for begin in _FOLLOWS.get(package, ()))
    return AxisDifference(
        versions=tuple(
            (package, (version_text(before, package), version_text(after, package))) for package in packages
        ),
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


def include_version(fields: Collection[str]) -> bool:
    """Whether a version is among these fields, so another machine alone does not explain the difference."""
    return any(_package(name) is not None for name in fields)


def _weight(package: str) -> tuple[int, str]:
    return (_ALWAYS.index(package) if package in _ALWAYS else len(_ALWAYS)), package


def _counts(name: str, imported: Collection[str]) -> bool:
    """Whether a field may explain a result.

    A package counts only if the script imports it, or if it always matters.
    """
    package = name.removeprefix("package.")
    return package == name or package in imported or package in _ALWAYS


def _package(name: str) -> str | None:
    """The package whose version the field holds; None for other fields."""
    if name in {"torch.version", "python.version"}:
        return name.partition(".")[0]
    package = name.removeprefix("package.")
    return None if package == name else package


def version_text(environment: Environment, package: str) -> str:
    """The version of a package in an environment; empty if it has none."""
    names = {"torch": ("torch.version", "package.torch"), "python": ("python.version",)}.get(
        package, (f"package.{package}",)
    )
    return next((value for name in names if isinstance(value := environment.get(name), str)), "")


def _version(text: str) -> Version:
    return parse_version(text) or NO_VERSION
