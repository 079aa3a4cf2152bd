"""`samehere serve` leaves no process, mount or socket, however it ends during a run.

The next start continues the run.
"""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from chaos_service import Whole, assert_thirty, eventually, processes, thirty_jobs

from worker.sandbox.resources import cgroup

pytestmark = [pytest.mark.service, pytest.mark.sandbox]


@pytest.fixture
def own(home: Path, plain_toolchains: Path) -> Iterator[Whole]:
    own = Whole(home=home, toolchains=plain_toolchains)
    own.start()
    yield own
    own.stop()


def _running_scripts(own: Whole) -> list[int]:
    """The processes with untrusted code of this service, told by the toolchain that is mounted for them."""
    found = []
    for process in psutil.process_iter():
        try:
            if "/home/u/script.py" not in process.cmdline():
                continue
            mounts = Path(f"/proc/{process.pid}/mountinfo").read_text()
        except (psutil.Error, OSError):
            continue
        if str(own.toolchains) in mounts:
            found.append(process.pid)
    return found


def _mounts(own: Whole) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if str(own.home) in line or str(own.toolchains) in line]


def _sockets(own: Whole) -> list[str]:
    held = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(own.home) in line]
    return held + [str(path) for path in own.home.rglob("*") if path.is_socket()]


def _answers(url: str) -> bool:
    place = urlsplit(url)
    with socket.socket() as connection:
        return connection.connect_ex((str(place.hostname), int(place.port or 0))) == 0


def _orphan_cgroups(owners: set[int]) -> list[str]:
    parents = cgroup.find().parents
    folders = () if parents is None else (parents.memory, parents.pids)
    leaves = [leaf for folder in folders if folder is not None for leaf in folder.glob("samehere-*-slot*")]
    return [leaf.name for leaf in leaves if int(re.findall(r"\d+", leaf.name)[0]) in owners]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_nothing_is_left(own: Whole, number: signal.Signals) -> None:
    run_id = own.submit(thirty_jobs())
    own.until_recorded(run_id, 3)
    assert own.recorded(run_id) < 25
    assert eventually(lambda: _running_scripts(own) != [], seconds=60)
    nodes = set(own.pids("worker node"))
    assert own.service is not None
    own.service.process.send_signal(number)
    assert own.service.process.wait(60) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    seconds = 0.0 if number == signal.SIGTERM else 60.0
    assert eventually(lambda: processes(own.home) == {}, seconds=seconds), processes(own.home)
    assert eventually(lambda: _running_scripts(own) == [], seconds=seconds)
    assert _mounts(own) == []
    assert _sockets(own) == []
    assert not _answers(own.service.url)
    if number == signal.SIGTERM:
        assert _orphan_cgroups(nodes) == []
    own.start()
    assert _orphan_cgroups(nodes) == []
    # Thirty results, none twice, although the whole service was killed in the middle.
    assert_thirty(own, run_id)
