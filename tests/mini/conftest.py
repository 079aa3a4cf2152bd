"""The command line over one node for all reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import Command, one_node
from running_service import service_environment


@pytest.fixture(scope="session")
def mini_environment(session_home: Path, toolchain: str) -> dict[str, str]:
    """One home for all reports."""
    home = session_home / "mini"
    home.mkdir(mode=0o711)
    return service_environment(home)


@pytest.fixture(scope="module")
def shared_command(mini_environment: dict[str, str]) -> Iterator[Command]:
    """Its node ends with the file: other tests look for the nodes below this process."""
    with one_node(mini_environment) as command:
        yield command
