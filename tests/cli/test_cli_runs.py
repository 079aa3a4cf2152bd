"""A run by the command line: what is printed, what the exit status says, and what is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import ROOT, samehere
from running_command import run_here
from running_service import own_uids, service_environment

from worker.sandbox.isolation import private_mounts

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("toolchain")]

OWN_PYTHON = str(Path(sys.executable).resolve())
# The uid of the first slot, where the node is root.
SLOT_UID = int(own_uids()["SAMEHERE_FIRST_UID"])
RAISES = '# Claim: ValueError: the bug\nraise ValueError("the bug")\n'
FINE = '# Claim: ValueError: the bug\nprint("fine")\n'
LACKS = "# Claim: ValueError: the bug\nimport package_that_nobody_wrote\n"
STAYS = "# Claim: hangs\nimport time\nwhile True:\n    time.sleep(1)\n"
# The contract of the run object, schema 1. Other programs rely on it.
RUN_KEYS = [
    "schema",
    "id",
    "state",
    "verdict",
    "so_far",
    "seen",
    "defect",
    "cause",
    "summary",
    "scope",
    "where",
    "not_where",
    "newest",
    "without_result",
    "ask",
    "report",
    "jobs",
    "comparisons",
    "environments",
    "created_at",
    "finished_at",
]
REPORT_KEYS = ["title", "scripts", "claim", "environment"]
SCRIPT_KEYS = ["role", "as_given", "script", "repairs", "digest", "needs"]
CHECK_KEYS = ["text", "kind", "role", "where", "over"]
JOB_KEYS = [
    "id",
    "script",
    "target",
    "state",
    "verdict",
    "reason",
    "matched",
    "of",
    "rate_upper_bound",
    "rate_interval",
    "checks",
    "attempts",
]
TARGET_KEYS = ["device", "gpus", "toolchain", "settings"]
ATTEMPT_KEYS = [
    "id",
    "kind",
    "start",
    "node",
    "level",
    "outcome",
    "reason",
    "exit_status",
    "signal",
    "exception",
    "stdout",
    "stderr",
    "truncated",
    "devices_used",
    "wall_seconds",
    "peak_memory_bytes",
    "environment",
]
COMPARISON_KEYS = ["id", "baseline", "candidate", "result", "cause", "differences", "first_difference"]


def run(home: Path, text: str, *words: str, name: str = "script.py") -> subprocess.CompletedProcess[str]:
    path = home / name
    path.write_text(text)
    return samehere("reproduce", str(path), "--target", "cpu", *words, environment=service_environment(home))


def missing(part: dict[str, Any], keys: list[str]) -> list[str]:
    return [key for key in keys if key not in part]


def test_the_run_object_has_every_field_of_the_contract(home: Path) -> None:
    ended = run(home, RAISES, "--target", "cpu:threads=1", "--repeats", "1", "--json")
    document = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert document["schema"] == 1
    report, jobs = document["report"], document["jobs"]
    assert missing(document, RUN_KEYS) == missing(report, REPORT_KEYS) == []
    assert [missing(script, SCRIPT_KEYS) for script in report["scripts"]] == [[]]
    assert [missing(check, CHECK_KEYS) for check in report["claim"]["checks"]] == [[]]
    assert [missing(job, JOB_KEYS) + missing(job["target"], TARGET_KEYS) for job in jobs] == [[], []]
    attempts = [attempt for job in jobs for attempt in job["attempts"]]
    assert [missing(attempt, ATTEMPT_KEYS) for attempt in attempts] == [[], []]
    assert [missing(comparison, COMPARISON_KEYS) for comparison in document["comparisons"]] == [[]]
    compared = {document["comparisons"][0][side] for side in ("baseline", "candidate")}
    assert compared == {attempt["id"] for attempt in attempts}
    assert {attempt["environment"] for attempt in attempts} <= set(document["environments"])


@pytest.mark.parametrize(
    ("text", "verdict", "answer"),
    [(RAISES, "reproduced", 1), (FINE, "not_reproduced", 0), (LACKS, "cannot_show", 125)],
)
def test_a_verdict_is_no_failure_and_an_answer_when_asked_for(
    home: Path, text: str, verdict: str, answer: int
) -> None:
    plain = run(home, text, "--repeats", "1", "--json")
    assert (json.loads(plain.stdout)["verdict"], plain.returncode) == (verdict, 0)
    assert run(home, text, "--repeats", "1", "--exit-code").returncode == answer


def test_files_that_the_report_shows_are_there(home: Path) -> None:
    files = (
        "shapes.py:\n\n```python\ndef area(a, b):\n    return a * b\n```\n\ndata/n.txt:\n\n```\n12\n```\n\n"
    )
    script = (
        "```python\nfrom shapes import area\n\nprint(int(open('data/n.txt').read()) + area(2, 3))\n```\n\n"
    )
    ended = run(home, f"# The sum is wrong\n\n{files}{script}It prints `18`.\n", "--json", name="report.md")
    document = json.loads(ended.stdout)
    assert document["verdict"] == "reproduced", document["summary"]
    assert [repair["code"] for repair in document["report"]["scripts"][0]["repairs"]] == ["shown_file"] * 2


def test_the_sentence_comes_first_and_progress_is_on_standard_error(home: Path) -> None:
    ended = run(home, RAISES, "--repeats", "1")
    assert ended.stdout.startswith("reproduced: ")
    assert "1 of 1" in ended.stdout
    assert "cells can run here" in ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr


def test_standard_input_is_read(home: Path) -> None:
    report = b"# It fails\n\n```python\nraise ValueError('the bug')\n```\n\nClaim: ValueError: the bug\n"
    ended = samehere(
        "reproduce",
        "-",
        "--json",
        "--repeats",
        "1",
        "--target",
        "cpu",
        environment=service_environment(home),
        stdin=report,
    )
    assert json.loads(ended.stdout)["verdict"] == "reproduced"


@pytest.fixture
def open_toolchain(home: Path) -> dict[str, str]:
    """The environment of a home whose only toolchain is a Python that every user can read."""
    readable = [
        python for python in (OWN_PYTHON, "/usr/bin/python3") if private_mounts.readable(python, uid=SLOT_UID)
    ]
    if not readable:
        pytest.skip("no Python here that every user can read")
    subprocess.run(
        [readable[0], "-m", "venv", "--without-pip", str(home / "venv")], check=True, capture_output=True
    )
    environment = {**service_environment(home), "SAMEHERE_TOOLCHAINS": str(home / "toolchains")}
    adopted = samehere(
        "toolchain", "adopt", "plain", "--python", str(home / "venv/bin/python"), environment=environment
    )
    assert adopted.returncode == 0, adopted
    return environment


@pytest.mark.parametrize(
    ("weaker", "warning"), [("limits-only", "does not isolate"), ("landlock+seccomp", "isolates less")]
)
def test_with_weaker_isolation_it_warns_and_says_so(
    home: Path, open_toolchain: dict[str, str], weaker: str, warning: str
) -> None:
    (home / "script.py").write_text(RAISES)
    words = ("--isolation", weaker, "--target", "cpu@plain", "--repeats", "1", "--json")
    ended = samehere("reproduce", str(home / "script.py"), *words, environment=open_toolchain)
    document = json.loads(ended.stdout)
    assert (document["verdict"], ended.returncode) == ("reproduced", 0)
    assert [attempt["level"] for attempt in document["jobs"][0]["attempts"]] == [weaker]
    assert warning in ended.stderr


def test_a_setting_of_the_harness_is_refused_where_nothing_starts_it(
    home: Path, open_toolchain: dict[str, str]
) -> None:
    (home / "script.py").write_text(RAISES)
    words = (
        "--isolation",
        "landlock+seccomp",
        "--target",
        "cpu@plain:deterministic",
        "--repeats",
        "1",
        "--json",
    )
    document = json.loads(
        samehere("reproduce", str(home / "script.py"), *words, environment=open_toolchain).stdout
    )
    assert document["verdict"] == "no_result"
    assert "deterministic" in document["jobs"][0]["reason"]["detail"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has slots with uids of their own")
def test_without_isolation_a_closed_interpreter_is_told(home: Path, open_toolchain: dict[str, str]) -> None:
    (home / "script.py").write_text(RAISES)
    (home / "toolchains").chmod(0o700)
    words = ("--isolation", "limits-only", "--target", "cpu@plain", "--repeats", "1", "--json")
    ended = samehere("reproduce", str(home / "script.py"), *words, environment=open_toolchain)
    document = json.loads(ended.stdout)
    assert (document["verdict"], ended.returncode) == ("no_result", 3)
    assert "where every user can read them" in document["jobs"][0]["reason"]["detail"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_soon_and_leaves_no_process(home: Path, number: signal.Signals) -> None:
    path = home / "script.py"
    path.write_text(STAYS)
    argv = [
        sys.executable,
        "-m",
        "app.cli",
        "reproduce",
        str(path),
        "--target",
        "cpu",
        "--wall",
        "120",
        "--json",
    ]
    process = subprocess.Popen(
        argv, cwd=ROOT, env=service_environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        family = _wait_for_script(process.pid)
        process.send_signal(number)
        stdout, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert json.loads(stdout)["state"] == "cancelled"
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


def _wait_for_script(pid: int) -> list[psutil.Process]:
    """All processes below, once the script is among them."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        family = psutil.Process(pid).children(recursive=True)
        for member in family:
            try:
                if "/home/u/script.py" in member.cmdline():
                    return family
            except psutil.Error:
                continue
        time.sleep(0.2)
    raise AssertionError("the script never started")


@pytest.mark.parametrize(
    "words", [("reproduce", "--help"), ("read", "--help"), ("serve", "--help"), ("token", "create", "--help")]
)
def test_help_has_an_example(home: Path, words: tuple[str, ...]) -> None:
    ended = run_here(*words, environment=service_environment(home))
    assert ended.returncode == 0
    assert "Example: samehere " + words[0] in " ".join(ended.stdout.split())


def test_the_service_is_not_imported_for_a_local_run(home: Path) -> None:
    """A run without a server does not import the service, which takes half a second."""
    (home / "report.md").write_text("# It fails\n\nSomehow.\n")
    code = (
        "import sys; sys.argv[1:] = ['reproduce', sys.argv[1]]\n"
        "import app.runs.local.run\nfrom app.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'fastapi', 'sqlalchemy', 'celery', 'redis', 'psycopg', 'torch', 'numpy'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    argv = [sys.executable, "-c", code, str(home / "report.md")]
    ended = subprocess.run(
        argv, cwd=ROOT, env=service_environment(home), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
