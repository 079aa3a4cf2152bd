"""A bisection says which toolchains it lacks, with the command that adds them."""

from __future__ import annotations

import pytest

from app.errors import InputError
from app.targets.target import Target
from app.targets.versions.series import make_series
from worker.contract import Hello, Level, ToolchainFacts


@pytest.mark.parametrize(
    ("axis", "command"),
    [
        ("torch", "samehere toolchain add torch-VERSION --no-build 'torch==VERSION'"),
        ("python", "samehere toolchain add python-VERSION --python VERSION PACKAGE"),
    ],
)
def test_one_version_is_no_series(axis: str, command: str) -> None:
    facts = ToolchainFacts(
        name="torch-2.13", state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", detail="Python 3.12.1"
    )
    fleet = [
        Hello(node="n", instance="one", slots=1, level=Level.NAMESPACES_CGROUP, toolchains=[facts], cores=1)
    ]
    with pytest.raises(InputError) as raised:
        make_series(axis, Target(), fleet, required_level=Level.NAMESPACES_CGROUP)
    assert raised.value.message.endswith(command)
