"""`samehere.py` finds our packages beside others of the same names, and says when they were overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(start: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", str(start), *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def others(tmp_path: Path) -> Mapping[str, str]:
    """Packages of others with our names, before ours on Python's path."""
    for name in ("app", "worker", "migrations"):
        (tmp_path / "others" / name).mkdir(parents=True)
        (tmp_path / "others" / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    return {"PYTHONPATH": str(tmp_path / "others"), "SAMEHERE_HOME": str(tmp_path / "home")}


@pytest.mark.parametrize("words", [["presets"], ["toolchain", "list"], ["-m", "worker", "toolchain", "list"]])
def test_packages_of_the_same_names_are_not_in_the_way(words: list[str], others: Mapping[str, str]) -> None:
    done = run(ROOT / "samehere.py", *words, **others)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["app", "worker", "migrations"])
def test_an_overwritten_package_is_named(name: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "samehere.py", tmp_path)
    for package in ("app", "worker", "migrations"):
        (tmp_path / package).mkdir()
        shutil.copy(ROOT / package / "__init__.py", tmp_path / package)
    (tmp_path / name / "__init__.py").write_text('"""Somebody\'s application."""\n')
    done = run(tmp_path / "samehere.py", "presets")
    assert done.returncode == 2
    assert f"the package {name} in {tmp_path} is not" in done.stderr
    assert "virtual environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1
