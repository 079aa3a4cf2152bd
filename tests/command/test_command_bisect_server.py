"""`samehere bisect --server`: the same answer, JSON and exit status as without a server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from held_values import showing
from running_web import Web
from stage import result

from worker.contract import Attempt, Hello, Level, Outcome, ToolchainFacts

VERSIONS = ("2.9", "2.10", "2.11", "2.12", "2.13")
REPORT = "# It prints 44\n\n```python\nimport torch\nprint(44)\n```\n\nIt prints 44, expected 300.\n"


@pytest.fixture
def fleet(web: Web) -> Web:
    """A node with five versions."""
    chains = [
        ToolchainFacts(
            name=f"torch-{version}", state="ready", packages={"torch": f"{version}.0"}, torch=f"{version}.0"
        )
        for version in VERSIONS
    ]
    web.stage.say(
        Hello(node="n", instance="one", slots=8, level=Level.NAMESPACES_CGROUP, toolchains=chains, cores=8)
    )
    web.stage.beat("n")
    return web


def answer(web: Web, attempt: Attempt) -> None:
    """It is seen from 2.11 on."""
    version = attempt.toolchain.removeprefix("torch-")
    seen = showing("44\n" if VERSIONS.index(version) >= 2 else "300\n")
    web.stage.start(attempt, node="n")
    told = result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen)
    web.stage.say(
        told.model_copy(update={"environment": {"torch.version": f"{version}.0", "cpu.model": "x"}})
    )


def bisected(
    web: Web, tmp_path: Path, *options: str, report: str = REPORT
) -> subprocess.CompletedProcess[str]:
    """The command, while the node answers."""
    file = tmp_path / "report.md"
    file.write_text(report)
    argv = [sys.executable, "-P", "-m", "app.cli", "bisect", str(file), "--server", web.url, *options]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 90
    while process.poll() is None and time.monotonic() < deadline:
        web.stage.beat("n")
        for attempt in web.stage.dispatch():
            answer(web, attempt)
        time.sleep(0.1)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def test_a_service_finds_the_change(fleet: Web, tmp_path: Path) -> None:
    done = bisected(fleet, tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["kind"], told["last_good"], told["first_bad"], told["state"]) == (
        "appeared",
        "2.10.0",
        "2.11.0",
        "finished",
    )
    assert f"{fleet.url}/bisections/{told['id']}" in done.stderr
    assert "attempts: " in done.stderr


def test_what_a_service_cannot_do_is_said(fleet: Web, tmp_path: Path) -> None:
    for options, words in (
        (("--over", "nonsense"), "nonsense"),
        (("--wall", "5"), "--wall is for runs on this machine"),
        (("--isolation", "limits-only"), "--isolation is for runs on this machine"),
        (("--error", "0.9"), "--error is a probability"),
    ):
        done = bisected(fleet, tmp_path, *options)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    lacking = bisected(fleet, tmp_path, report="# It crashes\n\nIt crashes when I train.\n")
    assert (lacking.returncode, "lacks something" in lacking.stderr) == (2, True), lacking.stderr
