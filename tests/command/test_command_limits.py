"""`samehere read` and `reproduce` take the limits of size from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.command.read import read_report
from app.errors import TooLargeError

DEFAULT = 256 * 1024


@pytest.mark.parametrize("limit", [500, DEFAULT, DEFAULT + 1000, 2 * 1024 * 1024])
@pytest.mark.parametrize(
    ("name", "around"), [("a.py", "{}"), ("a.txt", "{}"), ("a.md", "# Title\n\n```python\n{}```\n")]
)
def test_a_script_may_be_as_large_as_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, name: str, around: str
) -> None:
    monkeypatch.setenv("SAMEHERE_SCRIPT_BYTES", str(limit))
    monkeypatch.setenv("SAMEHERE_REPORT_BYTES", str(limit + 100) if name == "a.md" else "1000000")
    path = tmp_path / name
    script = "x = 1\n" + "#" * (limit - 7) + "\n"
    path.write_text(around.format(script))
    assert read_report(str(path), form="auto", as_json=True) == 0
    path.write_text(around.format(script.replace("#\n", "##\n")))
    with pytest.raises(TooLargeError, match=f"larger than {limit} bytes"):
        read_report(str(path), form="auto", as_json=True)


@pytest.mark.parametrize("limit", [500, 1024 * 1024, 1024 * 1024 + 1000])
def test_a_report_may_be_as_large_as_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setenv("SAMEHERE_SCRIPT_BYTES", "300")
    monkeypatch.setenv("SAMEHERE_REPORT_BYTES", str(limit))
    path = tmp_path / "a.md"
    path.write_text("# Title\n\nIt is wrong. ".ljust(limit, "x"))
    assert read_report(str(path), form="auto", as_json=True) == 0
    path.write_text("# Title\n\nIt is wrong. ".ljust(limit + 1, "x"))
    with pytest.raises(TooLargeError, match=f"larger than {limit} bytes"):
        read_report(str(path), form="auto", as_json=True)
