"""Every mini report through the whole path: command line, reading, plan, sandbox, judgement."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mini_reports import expectation, mini_reports, run_mini
from running_service import service_environment

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("toolchain")]


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """One home for all tests, so that the node probes each toolchain once."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-mini-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("folder", mini_reports(), ids=lambda folder: folder.name)
def test_the_command_says_of_a_mini_report_what_it_must(folder: Path, shared_home: Path) -> None:
    assert run_mini(folder, environment=service_environment(shared_home)) == expectation(folder)["stable"]
