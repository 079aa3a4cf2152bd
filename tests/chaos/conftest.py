"""A toolchain that starts fast, and one service for all tests that kill its parts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_service import TOOLCHAIN, Whole
from running_service import service_environment


@pytest.fixture(scope="session")
def plain_toolchains(session_home: Path) -> Path:
    """A folder with one toolchain without torch: the environment of the tests, adopted."""
    folder = session_home / "plain-toolchains"
    folder.mkdir(mode=0o755)
    subprocess.run(
        [sys.executable, "-P", "-m", "worker", "toolchain", "adopt", TOOLCHAIN, "--python", sys.executable],
        env={**service_environment(session_home / "adopting"), "SAMEHERE_TOOLCHAINS": str(folder)},
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="session")
def whole(session_home: Path, plain_toolchains: Path) -> Iterator[Whole]:
    """A service with a node. Each part that a test kills runs again when the test ends."""
    home = session_home / "chaos"
    home.mkdir(mode=0o711)
    whole = Whole(home=home, toolchains=plain_toolchains)
    whole.start()
    yield whole
    whole.stop()
