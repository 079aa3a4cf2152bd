"""A run without a server: its node dies or is absent, or somebody presses Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from default_limits import read
from running_service import share_environments

from app.errors import NodeError, SetupError
from app.intake.reading import Reading
from app.judging.judgement import JobJudgement, Verdict
from app.runs.local.conductor import LEASES, Progress
from app.runs.local.run import LocalOptions, run_locally
from app.runs.run_object.document import RunDocument
from app.targets.parse import parse_target
from app.targets.planning.plan import Cell
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Hello, Limits, Outcome, Result

pytestmark = pytest.mark.sandbox
BEFORE: list[psutil.Process] = []


class Heard:
    """A progress that records its calls, and does something when the plan is there."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.outcomes: list[Outcome] = []
        self.hello: Hello | None = None

    def report_plan(self, cells: Sequence[Cell], hello: Hello) -> None:  # noqa: ARG002  # part of the interface
        self.hello = hello

    def report_attempt(self, target: Target, result: Result) -> None:  # noqa: ARG002  # part of the interface
        self.outcomes.append(result.outcome)

    def report_verdict(self, target: Target, judgement: JobJudgement) -> None:
        pass

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture(autouse=True)
def _own_home(home: Path, toolchains: Path, toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    share_environments(home)
    monkeypatch.setenv("SAMEHERE_HOME", str(home))
    monkeypatch.setenv("SAMEHERE_TOOLCHAINS", str(toolchains))
    monkeypatch.setenv("SAMEHERE_SLOTS", "1")


def run_here(
    reading: Reading,
    *targets: str,
    progress: Progress,
    repeats: int | None = None,
    wall_seconds: float = 20.0,
) -> RunDocument:
    request = RunRequest(targets=tuple(map(parse_target, targets)), repeats=repeats)
    options = LocalOptions(limits=Limits(wall_seconds=wall_seconds))
    return run_locally(reading, request, options, progress=progress).document


def node() -> psutil.Process | None:
    """The node below this process; processes come and go meanwhile."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if child not in BEFORE and child.cmdline()[-2:] == ["-m", "worker"]:
                return child
    return None


def below(process: psutil.Process | None, *, recursive: bool) -> int:
    try:
        return 0 if process is None else len(process.children(recursive=recursive))
    except psutil.Error:
        return 0


def offspring() -> list[psutil.Process]:
    """The processes below this one, without the service of the test session."""
    kept = {
        child.pid
        for server in BEFORE
        if server.is_running()
        for child in (server, *server.children(recursive=True))
    }
    children = psutil.Process().children(recursive=True)
    return [child for child in children if child.status() != psutil.STATUS_ZOMBIE and child.pid not in kept]


@pytest.fixture(autouse=True)
def _what_was_there_before() -> None:
    BEFORE[:] = psutil.Process().children()


def when_running(
    act: Callable[[psutil.Process], None], *, times: int = 1, after_seconds: float = 0.5
) -> threading.Thread:
    """Do something once, or repeatedly, when a script runs below the node."""

    def watch() -> None:
        seen: set[int] = set()
        deadline = time.monotonic() + 100
        while len(seen) < times and time.monotonic() < deadline:
            found = node()
            if found is not None and found.pid not in seen and below(found, recursive=True) >= 2:
                time.sleep(after_seconds)
                seen.add(found.pid)
                act(found)
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def outcomes(run: RunDocument) -> list[str | None]:
    return [attempt.outcome for job in run.jobs for attempt in job.attempts]


def test_a_node_that_dies_is_started_again_and_the_attempt_is_one_piece_of_evidence() -> None:
    heard = Heard()
    script = read(
        "import time\nprint('answer 42', flush=True)\ntime.sleep(1.5)\n", claim='prints "answer 42"'
    )
    killer = when_running(lambda process: process.kill())
    run = run_here(script, "cpu", repeats=2, progress=heard)
    killer.join()
    assert len(heard.warnings) == 1
    assert (run.verdict, outcomes(run)) == (Verdict.REPRODUCED, ["completed", "completed"])
    assert offspring() == []


def test_an_attempt_under_which_the_node_dies_again_and_again_is_lost() -> None:
    heard = Heard()
    killer = when_running(lambda process: process.kill(), times=LEASES)
    run = run_here(read("import time\ntime.sleep(60)\n"), "cpu", repeats=1, progress=heard)
    killer.join()
    assert len(heard.warnings) == LEASES
    assert run.verdict is Verdict.NO_RESULT
    assert [attempt.state for attempt in run.jobs[0].attempts] == ["lost"]


def test_an_interrupted_run_keeps_what_was_seen_and_leaves_no_process() -> None:
    script = read(
        "import os, time\nif os.fork() == 0:\n    os.setsid()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    presser = when_running(lambda _: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
    start = time.monotonic()
    run = run_here(script, "cpu", "cpu:threads=1", wall_seconds=60, progress=Heard())
    presser.join()
    assert time.monotonic() - start < 40
    assert (run.state, run.verdict) == ("cancelled", None)
    assert {job.state for job in run.jobs} == {"cancelled"}
    assert offspring() == []


def test_the_cells_share_the_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEHERE_SLOTS", "2")
    script = read("import time\ntime.sleep(2)\nprint('answer 42')\n", claim='prints "answer 42"')
    together: list[int] = []
    ended = threading.Event()

    def count() -> None:
        while not ended.wait(0.1):
            together.append(below(node(), recursive=False))

    counter = threading.Thread(target=count)
    counter.start()
    run = run_here(script, "cpu", "cpu:threads=1", repeats=2, progress=Heard())
    ended.set()
    counter.join()
    assert max(together) == 2
    assert outcomes(run) == ["completed"] * 4, [
        attempt.reason for job in run.jobs for attempt in job.attempts
    ]


def test_a_machine_without_a_toolchain_is_told_how_to_get_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEHERE_TOOLCHAINS", str(home / "none"))
    with pytest.raises(SetupError, match="samehere toolchain add"):
        run_here(read("print(1)"), "cpu", progress=Heard())
    assert offspring() == []


def test_a_node_that_does_not_come_up_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEHERE_SLOTS", "none")
    with pytest.raises(NodeError, match=r"(?s)status 2.*SAMEHERE_SLOTS"):
        run_here(read("print(1)"), "cpu", progress=Heard())
    assert offspring() == []


def test_what_only_the_reporter_can_supply_needs_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEHERE_SLOTS", "none")
    run = run_here(read("name = input()\nprint(name)\n"), "cpu", progress=Heard())
    assert (run.verdict, run.jobs) == (Verdict.NEEDS_INFO, [])


def test_the_node_goes_with_us(tmp_path: Path) -> None:
    """Even if this process is killed."""
    script = tmp_path / "sleeps.py"
    script.write_text("import time\ntime.sleep(100)\n")
    command = [
        sys.executable,
        "-P",
        "-m",
        "app.cli",
        "reproduce",
        str(script),
        "--target",
        "cpu",
        "--wall",
        "100",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy()
    )
    family: list[psutil.Process] = []
    deadline = time.monotonic() + 60
    while len(family) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
        family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert len(family) >= 3
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
