"""Many jobs in a row leave nothing behind."""

from __future__ import annotations

import uuid
from pathlib import Path

from sandbox_jobs import SMALL, Jobs, fields, until_gone

from worker.sandbox import Ending, cgroup

PROGRAMS = (
    "print('fine')",
    "raise SystemExit(1)",
    "import os; os.abort()",
    "import os, time\nif os.fork() == 0:\n os.setsid(); time.sleep(60)\nos._exit(0)",
    "import time; time.sleep(60)",
    "import os\nwhile True: os.write(1, b'x' * 65536)",
)
SHORT = SMALL.model_copy(update={"wall_seconds": 0.4, "stream_kill_bytes": 1 << 20})


def _cgroups(owner: int) -> set[str]:
    parents = cgroup.find().parents
    if parents is None:
        return set()
    return {str(leaf) for parent in (parents.memory, parents.pids) if parent is not None for leaf in parent.glob(f"samehere-{owner}-*")}


def _zombies(parent: int) -> int:
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = fields(int(folder.name))
            count += state["State"].startswith("Z") and int(state["PPid"]) == parent
        except (OSError, KeyError):
            continue
    return count


def test_thirty_jobs(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    jobs.run(PROGRAMS[0], marker)
    descriptors, zombies, mounts = (
        jobs.runner.ask("descriptors"),
        _zombies(jobs.runner.process.pid),
        Path("/proc/self/mountinfo").read_text(),
    )
    mine = Path(f"/proc/{jobs.runner.process.pid}/mountinfo").read_text()
    assert not _cgroups(jobs.runner.process.pid)
    for number in range(30):
        result = jobs.run(PROGRAMS[number % len(PROGRAMS)], marker, limits=SHORT)
        assert result.ending in (Ending.EXITED, Ending.WALL_LIMIT, Ending.OUTPUT_LIMIT)
    until_gone(marker)
    assert jobs.runner.ask("descriptors") == descriptors
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert Path(f"/proc/{jobs.runner.process.pid}/mountinfo").read_text() == mine
    assert not _cgroups(jobs.runner.process.pid)
    assert _zombies(jobs.runner.process.pid) == zombies == 0


def test_jobs_see_nothing_of_each_other(jobs: Jobs) -> None:
    left = "import os\nfor folder in ('/tmp', '/dev/shm', '/home/u'): open(folder + '/left', 'w').write('x')\nprint('left')"
    assert jobs.said(left) == "left\n"
    found = "import os\nprint([os.listdir(folder) for folder in ('/tmp', '/dev/shm', '/home/u')])"
    # The interpreter's own folder may lie below /tmp.
    assert "left" not in jobs.said(found)
