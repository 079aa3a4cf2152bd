"""A warm job leaves nothing, its end is reported correctly, and the next job starts, however it ends."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_jobs import SMALL
from warm_runner import WarmRunner, make_warm_runner

from worker.contract import MIB
from worker.sandbox import Ending, SandboxResult
from worker.sandbox.resources import cgroup
from worker.warm.pool import proportional_bytes

FORKING = ["counted", *(["plain"] if os.geteuid() == 0 else [])]
# Here each interpreter serves one job, so each job costs a start of torch.
KINDS = [*FORKING, "once"]
BRIEF = SMALL.model_copy(update={"wall_seconds": 1.5})
TIGHT = SMALL.model_copy(update={"memory_bytes": 256 * MIB, "wall_seconds": 20.0})


@pytest.fixture(scope="module", params=KINDS)
def runner(request: pytest.FixtureRequest, toolchains: Path, toolchain: str) -> Iterator[WarmRunner]:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        runner = make_warm_runner(request.param, home=Path(home), toolchain=toolchains / toolchain)
        yield runner
        runner.close()


def below(pid: int) -> list[int]:
    """All descendants of a process, zombies too."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    pids = list(children.get(pid, []))
    for child in pids:
        pids += children.get(child, [])
    return pids


def lives(pid: int) -> bool:
    """Whether the process ended. A zombie did: this test process may have to recover orphans."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def alone(runner: WarmRunner, *, seconds: float = 25.0) -> list[int]:
    """Wait until the runner's only descendants are bubblewrap and the paused interpreter."""
    end = time.monotonic() + seconds
    while len(pids := below(runner.process.pid)) > 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(pids) <= 2, pids
    return pids


DEAF = """
import signal, time
print("on", flush=True)
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
time.sleep(60)
"""
STORM = """
import os, time
print("on", flush=True)
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
"""
STUBBORN = {
    "idle": ("import time; print('on', flush=True); time.sleep(60)", True),
    "busy": ("print('on', flush=True)\nwhile True: pass", False),
    "deaf": (DEAF, True),
    "stopped": ("import os, signal; print('on', flush=True); os.kill(os.getpid(), signal.SIGSTOP)", True),
}


@pytest.mark.parametrize("runner", FORKING, indirect=True)
@pytest.mark.parametrize(("script", "idle"), STUBBORN.values(), ids=STUBBORN.keys())
def test_time(runner: WarmRunner, script: str, idle: bool) -> None:  # noqa: FBT001
    assert time_limit_of(runner, script).idle is idle


def test_time_in_a_storm(runner: WarmRunner) -> None:
    time_limit_of(runner, STORM)


def time_limit_of(runner: WarmRunner, script: str) -> SandboxResult:
    """The result of a script that its time limit ends."""
    result = runner.run(script, limits=BRIEF)
    assert (result.ending, result.exit_status, result.signal) == (Ending.WALL_LIMIT, None, None)
    assert result.stdout.head[:3] == b"on\n"
    alone(runner)
    return result


@pytest.mark.parametrize("runner", FORKING, indirect=True)
def test_output(runner: WarmRunner) -> None:
    limits = SMALL.model_copy(update={"stream_kill_bytes": 4 * MIB})
    for fd in (1, 2, 900):
        result = runner.run(f"import os\nwhile True: os.write({fd}, b'x' * 65536)", limits=limits)
        assert result.ending is Ending.OUTPUT_LIMIT, fd
    alone(runner)


def test_memory(runner: WarmRunner) -> None:
    hog = (
        "b = []\nfor _ in range(40):\n    b.append(bytearray(25 << 20))\n"
        "    for at in range(0, 25 << 20, 4096): b[-1][at] = 1\n"
    )
    hog += "print('got')"
    result = runner.run(hog, limits=TIGHT)
    assert (result.ending, result.exit_status, result.stdout.head) == (Ending.MEMORY_LIMIT, None, b"")
    children = "import os\n" + hog.replace("print('got')", "os._exit(0)").replace(
        "b = []", "b = []\nif os.fork():\n    os.wait(); os._exit(0)"
    )
    result = runner.run(children, limits=TIGHT)
    assert (result.ending, result.exit_status) == (Ending.MEMORY_LIMIT, None)
    alone(runner)


@pytest.mark.parametrize("runner", FORKING, indirect=True)
def test_cancelling(runner: WarmRunner) -> None:
    runner.run("pass")
    began = time.monotonic()
    result = runner.run("import time; print('on', flush=True); time.sleep(60)", cancel_after=1.0)
    assert (result.ending, result.exit_status) == (Ending.CANCELLED, None)
    assert time.monotonic() - began < 8.0
    alone(runner)


@pytest.mark.parametrize("runner", FORKING, indirect=True)
def test_a_daemon_left_behind(runner: WarmRunner) -> None:
    script = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    script += (
        "        while True: os.write(1, b'.'); time.sleep(0.01)\n    os._exit(0)\n"
        "time.sleep(0.2)\nos.write(1, b'main')"
    )
    result = runner.run(script)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert b"main" in result.stdout.head
    alone(runner)


def test_many_in_a_row_leave_nothing(runner: WarmRunner) -> None:
    programs = (
        "print('fine')",
        "raise SystemExit(1)",
        "import os; os.abort()",
        "import os\nif os.fork() == 0: os.setsid(); os.execv('/bin/sleep', ['s', '60'])",
    )
    runner.run(programs[0])
    descriptors, mounts = runner.ask("descriptors"), Path(f"/proc/{runner.process.pid}/mountinfo").read_text()
    zygotes = runner.ask("zygotes")
    forks = runner.run("import os; print(os.getpid())").stdout.head == b"2\n"
    for number in range(20 if forks else 4):
        assert runner.run(programs[number % len(programs)]).ending is Ending.EXITED
    alone(runner)
    assert runner.ask("descriptors") == descriptors
    assert Path(f"/proc/{runner.process.pid}/mountinfo").read_text() == mounts
    parents = cgroup.find().parents
    if parents is not None:
        assert not list(parents.memory.glob(f"samehere-{runner.process.pid}-*"))
    if forks:
        # It was always the same interpreter, and not larger
        # than a slot's share; a build with CUDA may be larger.
        assert runner.ask("zygotes") == zygotes
        has_cuda = "True" in runner.output_of("import torch\nprint(torch.version.cuda is not None)")
        assert proportional_bytes(zygotes[0]) <= (500 if has_cuda else 250) * MIB  # type: ignore[index]


def test_one_that_died_is_replaced(runner: WarmRunner) -> None:
    runner.ask("prepare")
    first = runner.ask("zygotes")
    os.kill(first[0], 9)  # type: ignore[index]
    time.sleep(0.2)
    assert runner.output_of("import torch; print(torch.ones(1).item())") == "1.0\n"
    assert runner.ask("zygotes") != first


@pytest.mark.parametrize("kind", KINDS)
def test_killing_the_node_leaves_nothing(kind: str, toolchains: Path, toolchain: str) -> None:
    marker = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        runner = make_warm_runner(kind, home=Path(home), toolchain=toolchains / toolchain)
        source = (
            f"import os, signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
            f"'{marker}'\nif os.fork() == 0: os.setsid()\n"
        )
        runner.start(source + "os.fork()\ntime.sleep(60)")
        end = time.monotonic() + 30
        while len(all_of_it := below(runner.process.pid)) < 6 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(all_of_it) >= 6 - (kind == "once")
        runner.process.kill()
        end = time.monotonic() + 20
        while (alive := [pid for pid in all_of_it if lives(pid)]) and time.monotonic() < end:
            time.sleep(0.02)
        runner.close()
        assert alive == []
