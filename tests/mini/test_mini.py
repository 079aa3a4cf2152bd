"""Every mini report through the whole path: command line, reading, plan, sandbox, judgement."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from command_runs import Command, run_process
from mini_reports import expectation, mini_reports, run_mini

pytestmark = pytest.mark.sandbox
# These also run as a process with a node of its own: other output, other ends and other exit statuses.
AS_PROCESS = ("cannot_be_served", "invalid_utf8_and_escapes", "is_a_report", "no_code", "raises", "segfaults")


@pytest.mark.parametrize("folder", mini_reports(), ids=lambda folder: folder.name)
def test_the_command_says_of_a_mini_report_what_it_must(folder: Path, shared_command: Command) -> None:
    assert run_mini(folder, command=shared_command) == expectation(folder)["stable"]


@pytest.mark.parametrize("name", AS_PROCESS)
def test_a_process_with_a_node_of_its_own_says_the_same(name: str, mini_environment: dict[str, str]) -> None:
    (folder,) = (folder for folder in mini_reports() if folder.name == name)
    command = partial(run_process, environment=mini_environment)
    assert run_mini(folder, command=command) == expectation(folder)["stable"]
