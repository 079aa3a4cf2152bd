"""A store and a folder of wheels for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_wheels import take_only

from worker.toolchains import ToolchainStore


@pytest.fixture
def store(tmp_path: Path) -> ToolchainStore:
    tmp_path.chmod(0o755)
    return ToolchainStore(tmp_path / "toolchains")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    take_only(folder, monkeypatch)
    return folder
