"""A toolchain that starts fast, and a service for tests that kill its parts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
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


@pytest.fixture(scope="module")
def whole(session_home: Path, plain_toolchains: Path) -> Iterator[Whole]:
    """A service with a node. Each part that a test kills runs again when the test ends.

    It ends with the file: even an idle one takes a second of the processor in each minute.
    """
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir=session_home))
    home.chmod(0o711)
    whole = Whole(home=home, toolchains=plain_toolchains)
    whole.start()
    yield whole
    whole.stop()
