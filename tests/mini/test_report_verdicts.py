"""The command line gives each report of tests/reports that runs on a CPU one of its accepted verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import ROOT, Command

pytestmark = pytest.mark.sandbox
FOLDER = ROOT / "tests" / "reports"
# None needs more than a few seconds on a quiet machine. A report that hangs sets its own limit.
WALL_SECONDS = 60


def runnable() -> list[Path]:
    return [
        path for path in sorted(FOLDER.glob("*.json")) if json.loads(path.read_text()).get("accept_on_cpu")
    ]


@pytest.mark.parametrize("path", runnable(), ids=lambda path: path.stem)
def test_a_report_is_judged_as_it_may_be(path: Path, shared_command: Command, tmp_path: Path) -> None:
    report = json.loads(path.read_text())
    source = tmp_path / "report.md"
    heading = f"# {report['title']}\n\n" if report["title"] else ""
    source.write_text(heading + report["text"], newline="")
    wall = str(report.get("wall_seconds", WALL_SECONDS))
    options = ["--as", "report", "--target", "cpu", "--repeats", "2", "--wall", wall, "--json"]
    ended = shared_command(["reproduce", str(source), *options])
    assert ended.stdout, ended.stderr
    assert json.loads(ended.stdout)["verdict"] in report["accept_on_cpu"]
