"""At the wall limit, the stacks of a job's processes are collected, whatever user the node runs as."""

from __future__ import annotations

from sandbox_jobs import SMALL, Jobs

from worker.contract import Level
from worker.sandbox import Ending, SandboxJob
from worker.sandbox.process.stacks import STACKS_SIGNAL

ANSWERS = f"""
import faulthandler, os, time
faulthandler.register({STACKS_SIGNAL}, file=63, all_threads=True, chain=False)
def stands_here():
    time.sleep(600)
if os.fork() == 0:
    child = True
    stands_here()
stands_here()
"""


def test_answers_come_from_every_process(jobs: Jobs) -> None:
    result = jobs.run(ANSWERS, limits=SMALL.model_copy(update={"wall_seconds": 3}))
    assert (result.ending, result.idle) == (Ending.WALL_LIMIT, True)
    assert result.stacks.count(" in stands_here\n") == 2
    assert result.stacks.count("Process ") == 2
    assert (result.stdout.total_bytes, result.stderr.total_bytes, result.report) == (0, 0, b"")
    if jobs.level is not Level.LIMITS_ONLY:
        assert result.stacks.startswith("Process 2 (")


def test_what_does_not_listen_is_left_alone(jobs: Jobs) -> None:
    limits = SMALL.model_copy(update={"wall_seconds": 1})
    result = jobs.runner.run(
        SandboxJob(argv=("/bin/sh", "-c", "trap 'echo caught' TERM; sleep 600 & wait"), limits=limits)
    )
    assert (result.ending, result.stdout.total_bytes, result.stderr.total_bytes) == (Ending.WALL_LIMIT, 0, 0)
    assert result.stacks.count("Process ") == 2
    assert "(sleep), sleeping" in result.stacks


def test_the_report_before_the_limit_is_no_answer(jobs: Jobs) -> None:
    source = "import os, time\nos.write(63, b'{}\\n')\ntime.sleep(600)\n"
    result = jobs.run(source, limits=SMALL.model_copy(update={"wall_seconds": 3}))
    assert (result.report, "{}" in result.stacks) == (b"{}\n", False)
