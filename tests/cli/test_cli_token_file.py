"""A token for a service comes from an option, a variable, or a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from app.command.groups.options import FILE_VARIABLE, token_or_file


def test_the_file_is_read_unless_a_token_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    path.write_text("from-the-file\n")
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    assert token_or_file(None) == "from-the-file"
    assert token_or_file("given") == "given"
    monkeypatch.delenv(FILE_VARIABLE)
    assert token_or_file(None) is None


def test_a_missing_file_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(typer.BadParameter, match=FILE_VARIABLE):
        token_or_file(None)
    argv = [sys.executable, "-P", "-m", "app.cli", "cancel", "06b4k1m3", "--server", "http://127.0.0.1:1"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert FILE_VARIABLE in ended.stderr
    assert "Traceback" not in ended.stderr
