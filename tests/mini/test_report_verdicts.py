"""The command line gives each report of tests/reports that runs on a CPU one of its accepted verdicts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mini_reports import COMMAND_SECONDS, ROOT
from running_service import service_environment

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("toolchain")]
FOLDER = ROOT / "tests" / "reports"
# None needs more than a few seconds on a quiet machine. A report that hangs sets its own limit.
WALL_SECONDS = 60


def runnable() -> list[Path]:
    return [
        path for path in sorted(FOLDER.glob("*.json")) if json.loads(path.read_text()).get("accept_on_cpu")
    ]


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """One home for all tests, so that the node probes each toolchain once."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-reports-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("path", runnable(), ids=lambda path: path.stem)
def test_a_report_is_judged_as_it_may_be(path: Path, shared_home: Path, tmp_path: Path) -> None:
    report = json.loads(path.read_text())
    source = tmp_path / "report.md"
    heading = f"# {report['title']}\n\n" if report["title"] else ""
    source.write_text(heading + report["text"], newline="")
    options = [
        "--as",
        "report",
        "--target",
        "cpu",
        "--repeats",
        "3",
        "--wall",
        str(report.get("wall_seconds", WALL_SECONDS)),
        "--json",
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli", "reproduce", str(source), *options],
        cwd=ROOT,
        env={**os.environ, **service_environment(shared_home)},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert ended.stdout, ended.stderr
    assert json.loads(ended.stdout)["verdict"] in report["accept_on_cpu"]
