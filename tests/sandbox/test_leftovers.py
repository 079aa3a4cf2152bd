"""Many jobs in a row leave nothing behind."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

from sandbox_jobs import SMALL, Jobs, fields, until_gone
from sandbox_runner import AS_ROOT

from worker.sandbox import Ending
from worker.sandbox.resources import cgroup

PROGRAMS = (
    "print('fine')",
    "raise SystemExit(1)",
    "import os; os.abort()",
    "import os, time\nif os.fork() == 0:\n os.setsid(); time.sleep(60)\nos._exit(0)",
    "import time; time.sleep(60)",
    "import os\nwhile True: os.write(1, b'x' * 65536)",
    (
        "import os, socket, tempfile\n"
        "socket.socket(socket.AF_UNIX).bind(tempfile.mkdtemp() + '/s'); os.mkfifo('f'); "
        "os.mkdir('/dev/shm/d')"
    ),
)
SHORT = SMALL.model_copy(update={"wall_seconds": 0.4, "stream_kill_bytes": 1 << 20})


def _cgroups(owner: int) -> set[str]:
    parents = cgroup.find().parents
    if parents is None:
        return set()
    return {
        str(leaf)
        for parent in (parents.memory, parents.pids)
        if parent is not None
        for leaf in parent.glob(f"samehere-{owner}-*")
    }


def _zombies(parent: int) -> int:
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = fields(int(folder.name))
            count += state["State"].startswith("Z") and int(state["PPid"]) == parent
        except (OSError, KeyError):
            continue
    return count


def _state(jobs: Jobs) -> dict[str, object]:
    """Everything that a job could leave on the host."""
    pid = jobs.runner.process.pid
    return {
        "descriptors": jobs.runner.ask("descriptors"),
        "zombies": _zombies(pid),
        "cgroups": _cgroups(pid),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "the node's mounts": Path(f"/proc/{pid}/mountinfo").read_text(),
        "temporary files": sorted(
            path.name
            for path in Path(tempfile.gettempdir()).iterdir()
            if str(jobs.runner.sandbox_uid) in path.name
        ),
        "shared memory": sorted(
            path.name for path in Path("/dev/shm").iterdir() if path.stat().st_uid == jobs.runner.sandbox_uid
        ),
        "segments": _segments(jobs.runner.sandbox_uid),
        "keyrings": _keys(jobs.runner.sandbox_uid),
    }


def _keys(uid: object) -> int:
    try:
        return sum(f" {uid} " in line for line in Path("/proc/keys").read_text().splitlines())
    except OSError:
        return 0


def _segments(uid: object) -> int:
    return sum(line.split()[7] == str(uid) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:])


def test_many_jobs(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    # What a job leaves, it leaves each time. Polling and counting leave the same things.
    rounds = 12 if jobs.counted or jobs.runner.uid is not None else 4
    jobs.run(PROGRAMS[0], marker)
    before = _state(jobs)
    assert (before["cgroups"], before["zombies"]) == (set(), 0)
    for program in PROGRAMS * rounds:
        result = jobs.run(program, marker, limits=SHORT)
        assert result.ending in (Ending.EXITED, Ending.WALL_LIMIT, Ending.OUTPUT_LIMIT)
    until_gone(marker)
    assert _state(jobs) == before


def test_the_look_for_leftovers_sees_them(jobs: Jobs) -> None:
    """The control leaves something of each kind on purpose."""
    before = _state(jobs)
    leftover = Path(tempfile.gettempdir(), f"left-{jobs.runner.sandbox_uid}")
    shared = Path("/dev/shm/samehere-left")
    leftover.touch()
    shared.touch()
    try:
        if AS_ROOT:
            os.chown(shared, jobs.runner.sandbox_uid, -1)  # type: ignore[arg-type]
        after = _state(jobs)
    finally:
        leftover.unlink()
        shared.unlink()
    assert {name for name in before if before[name] != after[name]} == {"temporary files", "shared memory"}


def test_jobs_see_nothing_of_each_other(jobs: Jobs) -> None:
    leftover = (
        "import os\n"
        "for folder in ('/tmp', '/dev/shm', '/home/u'): open(folder + '/left', 'w').write('x')\n"
        "print('left')"
    )
    assert jobs.output_of(leftover) == "left\n"
    listing = "import os\nprint([os.listdir(folder) for folder in ('/tmp', '/dev/shm', '/home/u')])"
    # The interpreter's folder may be below /tmp.
    assert "left" not in jobs.output_of(listing)
