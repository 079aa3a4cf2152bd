"""constraints.txt has one version for every dependency of pyproject.toml, and none of a toolchain."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.11.0", "3.11.9", "3.12.0", "3.13.0", "3.14.0"]


def environment(python: str) -> dict[str, str]:
    return {
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


def constraints(python: str) -> dict[str, str]:
    """The versions that hold for one Python; fails on a line that is anything but a version."""
    versions: dict[str, str] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^@/\\]+)?", line), line
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(environment(python)):
                assert requirement.name not in versions, f"{requirement.name} has two versions on {python}"
                versions[requirement.name] = str(requirement.specifier).removeprefix("==")
    return versions


def dependencies() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return [Requirement(line) for each in lists for line in each]


def problems(wanted: list[Requirement], versions: dict[str, str]) -> list[str]:
    return [
        str(each)
        for each in wanted
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0.0a0"), prereleases=True)
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_has_a_version_that_fits(python: str) -> None:
    assert problems(dependencies(), constraints(python)) == [], "run: make constraints"


def test_the_check_can_fail() -> None:
    versions = constraints("3.12.0")
    assert problems([Requirement("celery>=99"), Requirement("absent>=1")], versions) == [
        "celery>=99",
        "absent>=1",
    ]


def test_nothing_of_a_toolchain_is_bound() -> None:
    assert not {"torch", "torchvision", "numpy", "triton"} & set(constraints("3.12.0"))


def test_make_and_the_images_use_it() -> None:
    make = re.sub(r"\\\n", " ", (ROOT / "Makefile").read_text())
    installs = [line for line in make.splitlines() if line.startswith("\t$(PIP)") and "--upgrade" not in line]
    docker = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if "pip install" in line]
    ours = [line for line in installs if line.strip() != "$(PIP) uv"]
    assert len(ours) == 4
    assert len(docker) == 2
    assert all("--constraint constraints.txt" in line for line in (*ours, *docker))
