"""Every mini report through the whole path: command line, reading, plan, sandbox, judgement."""

from __future__ import annotations

from pathlib import Path

import pytest
from mini_reports import expectation, mini_reports, run_mini
from running_service import service_environment

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("toolchain")]


@pytest.mark.parametrize("folder", mini_reports(), ids=lambda folder: folder.name)
def test_the_command_says_of_a_mini_report_what_it_must(folder: Path, home: Path) -> None:
    assert run_mini(folder, environment=service_environment(home)) == expectation(folder)["stable"]
