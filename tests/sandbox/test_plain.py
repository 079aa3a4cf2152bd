"""The level without isolation: used only if named; has limits, a session and a temporary scratch folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_jobs import until_gone
from sandbox_runner import AS_ROOT, PLAIN_UID, Runner

from worker.contract import MIB, Level, Limits
from worker.sandbox import Ending, Sandbox, SandboxJob, SandboxResult

LIMITS = Limits(wall_seconds=2.0, memory_bytes=256 * MIB, scratch_bytes=8 * MIB, stream_kill_bytes=4 * MIB)


@pytest.fixture(scope="module", params=["root", "plain"] if AS_ROOT else ["plain"])
def shell(request: pytest.FixtureRequest, sandbox_home: Path) -> Iterator[Runner]:
    runner = Runner(
        level=Level.LIMITS_ONLY,
        home=sandbox_home,
        uid=PLAIN_UID if AS_ROOT and request.param == "plain" else None,
    )
    yield runner
    runner.close()
    assert not list(Path(tempfile.gettempdir()).glob("samehere-job-????????"))


def _run(runner: Runner, script: str, *arguments: str, cancel_after: float | None = None) -> SandboxResult:
    job = SandboxJob(
        argv=("/bin/sh", "/home/u/script.sh", *arguments),
        files={"/home/u/script.sh": script.encode()},
        limits=LIMITS,
    )
    return runner.run(job, cancel_after=cancel_after)


def test_it_says_what_it_is(tmp_path: Path) -> None:
    sandbox = Sandbox(slot=90, home=tmp_path, level=Level.LIMITS_ONLY)
    assert sandbox.level is Level.LIMITS_ONLY
    assert "no isolation" in sandbox.level_detail
    assert sandbox.self_test() == [sandbox.level_detail]


def test_it_is_never_root(shell: Runner) -> None:
    assert shell.sandbox_uid != 0
    assert _run(shell, "id -u; id -g").stdout.head.decode().split() == [str(shell.sandbox_uid)] * 2


@pytest.mark.skipif(not AS_ROOT, reason="a plain user has no other uid")
@pytest.mark.parametrize("level", [Level.LIMITS_ONLY, None])
def test_an_operator_moves_the_uids_of_all_slots(tmp_path: Path, level: Level | None) -> None:
    sandbox = Sandbox(slot=3, home=tmp_path, level=level, first_uid=30_000)
    job = SandboxJob(argv=("/bin/sleep", "20"), limits=LIMITS)
    cancelled, uids = threading.Event(), set()

    def look() -> None:
        end = time.monotonic() + 10
        while not uids and time.monotonic() < end:
            uids.update(status.st_uid for status in _processes() if 30_000 <= status.st_uid < 30_100)
        cancelled.set()

    looking = threading.Thread(target=look)
    looking.start()
    sandbox.run(job, cancelled=cancelled)
    looking.join()
    assert uids == {30_003}


def _processes() -> Iterator[os.stat_result]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield folder.stat()


@pytest.mark.skipif(not AS_ROOT, reason="a plain user reads its own files")
def test_a_program_that_the_slot_cannot_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    program = tmp_path / "closed" / "python"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    sandbox = Sandbox(slot=90, home=tmp_path, level=Level.LIMITS_ONLY)
    result = sandbox.run(SandboxJob(argv=(str(program),), limits=LIMITS), cancelled=threading.Event())
    assert result.ending is Ending.SETUP_FAILED


def test_ending_and_environment(shell: Runner) -> None:
    result = _run(shell, 'cd; test "$PWD" = "$HOME" && echo x >file && cat file && exit 3')
    assert (result.ending, result.exit_status, result.stdout.head, result.level) == (
        Ending.EXITED,
        3,
        b"x\n",
        Level.LIMITS_ONLY,
    )
    assert _run(shell, "kill -SEGV $$").signal == 11


def test_nothing_stays(shell: Runner) -> None:
    marker = uuid.uuid4().hex
    result = _run(
        shell, "(trap '' HUP TERM; setsid sh -c 'while :; do sleep 1; done' $1 &) ; sleep 0.2; exit 0", marker
    )
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    until_gone(marker)
    began = time.monotonic()
    result = _run(
        shell, "trap '' HUP TERM; setsid sh -c 'while :; do :; done' $1 & while :; do sleep 1; done", marker
    )
    assert (result.ending, result.idle) == (Ending.WALL_LIMIT, False)
    assert time.monotonic() - began < 20.0
    until_gone(marker)


def test_output_and_cancellation(shell: Runner) -> None:
    assert (
        _run(shell, "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done").ending
        is Ending.OUTPUT_LIMIT
    )
    assert _run(shell, "sleep 60", cancel_after=0.3).ending is Ending.CANCELLED
