"""A bisection says which toolchains it lacks, with the command that adds them."""

from __future__ import annotations

import pytest

from app.errors import InputError
from app.targets.target import Target
from app.targets.versions.series import has_versions, make_series
from worker.contract import Hello, Level, ToolchainFacts

DETAIL = "Python 3.12.1"


@pytest.mark.parametrize(
    ("axis", "command"),
    [
        ("torch", "samehere toolchain add torch-VERSION --no-build 'torch==VERSION'"),
        ("python", "samehere toolchain add python-VERSION --python VERSION PACKAGE"),
    ],
)
def test_one_version_is_no_series(axis: str, command: str) -> None:
    facts = ToolchainFacts(
        name="torch-2.13", state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", detail=DETAIL
    )
    fleet = [
        Hello(node="n", instance="one", slots=1, level=Level.NAMESPACES_CGROUP, toolchains=[facts], cores=1)
    ]
    with pytest.raises(InputError) as raised:
        make_series(axis, Target(), fleet, required_level=Level.NAMESPACES_CGROUP)
    assert raised.value.message.endswith(command)


def test_a_fleet_has_versions_of_a_package_or_not() -> None:
    def node(*versions: str) -> Hello:
        chains = [
            ToolchainFacts(
                name=f"t-{each}", state="ready", packages={"torch": each}, torch=each, detail=DETAIL
            )
            for each in versions
        ]
        level = Level.NAMESPACES_CGROUP
        return Hello(node="n", instance="one", slots=1, level=level, toolchains=chains, cores=1)

    assert not has_versions(["torch", "numpy", "python"], [node("2.13.0")])
    # Two builds of one release are one version.
    assert not has_versions(["torch"], [node("2.13.0+cpu", "2.13.0+cu130")])
    assert has_versions(["numpy", "torch"], [node("2.13.0"), node("2.12.0")])
    assert not has_versions(["numpy", "python"], [node("2.13.0", "2.12.0")])
