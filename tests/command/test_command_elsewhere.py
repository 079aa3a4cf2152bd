"""Commands that work on a machine that can't be a node, and messages of those that don't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# The platform changes after the imports of libraries that look at it themselves.
AS_MACOS = """
import sys
import httpx2
import app.cli, app.command.reproduce, app.command.read, app.command.node, app.command.service.serve
import subprocess
sys.platform = "darwin"
sys.argv = ["samehere", *sys.argv[1:]]
app.cli.main()
"""


def samehere(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_MACOS, *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "report.py"
    path.write_text("# Claim: answer 42\nprint('answer 42')\n")
    return str(path)


def test_a_report_can_be_read(script: str) -> None:
    done = samehere("read", script, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["verdict"], [check["text"] for check in found["report"]["claim"]["checks"]]) == (
        None,
        ["answer 42"],
    )


@pytest.mark.parametrize("words", [["reproduce"], ["node"], ["toolchain", "list"], ["doctor"], ["serve"]])
def test_what_needs_linux_says_so(script: str, words: list[str]) -> None:
    done = samehere(*words, *([script] if words == ["reproduce"] else []))
    assert done.returncode == 2
    assert "Linux only" in done.stderr
    assert done.stdout == ""


def test_a_server_can_be_asked(script: str) -> None:
    done = samehere("reproduce", script, "--server", "not-an-address")
    assert "Linux" not in done.stderr
    assert "A server is an address" in done.stderr


def test_reading_needs_nothing_of_a_node_or_a_service(script: str) -> None:
    """A small installation suffices: no database driver, web framework, broker or process library is
    imported.
    """
    program = f"""
import sys
sys.argv = ["samehere", "read", {script!r}]
import app.cli
try:
    app.cli.main()
except SystemExit:
    pass
heavy = {{"sqlalchemy", "psycopg", "fastapi", "celery", "redis", "psutil", "torch", "alembic", "httpx2"}}
sys.exit(1 if heavy & set(sys.modules) else 0)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, timeout=60, check=False
        ).returncode
        == 0
    )
