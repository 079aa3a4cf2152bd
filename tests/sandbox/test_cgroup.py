"""The folder of a job's cgroup in all existing layouts, and the behaviour if it can't be created."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_runner import ROOT

from worker.contract import MIB
from worker.sandbox.resources import cgroup

MOUNT_1 = "33 28 0:29 / {point} rw,relatime - cgroup cgroup rw,{controller}\n"
MOUNT_2 = "33 28 0:29 {root} {point} rw,relatime - cgroup2 cgroup2 rw\n"


def _folder(path: Path, **files: str) -> Path:
    """A fake cgroup: a plain folder, in which writing to a missing file fails as in a real cgroup."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


def test_none_mounted() -> None:
    support = cgroup.find(proc_cgroup="0::/\n", mountinfo="")
    assert support.parents is None
    assert "systemd-run --user --scope -p Delegate=yes" in support.detail


def test_version_2_without_the_controllers_says_so(tmp_path: Path) -> None:
    _folder(tmp_path / "own", cgroup__controllers="cpu", cgroup__subtree_control="", cgroup__procs="")
    support = cgroup.find(proc_cgroup="0::/own\n", mountinfo=MOUNT_2.format(root="/", point=tmp_path))
    assert support.parents is None
    assert (
        "subtree_control" in support.detail
        or "controller" in support.detail
        or "No such file" in support.detail
    )


def test_version_2_looks_at_its_own_folder_first_and_then_at_the_top(tmp_path: Path) -> None:
    _folder(tmp_path / "slice" / "own")
    candidates = cgroup._candidates("0::/slice/own\n", MOUNT_2.format(root="/", point=tmp_path))
    assert [parents.memory for parents in candidates] == [tmp_path / "slice" / "own", tmp_path]


def test_version_2_in_a_container_that_shows_only_its_own(tmp_path: Path) -> None:
    candidates = cgroup._candidates("0::/docker/abc\n", MOUNT_2.format(root="/docker/abc", point=tmp_path))
    assert [parents.memory for parents in candidates] == [tmp_path]


def test_version_1_goes_before_version_2_because_it_holds_the_controllers(tmp_path: Path) -> None:
    memory, pids = _folder(tmp_path / "memory"), _folder(tmp_path / "pids" / "job")
    _folder(memory / "job")
    mounts = "".join(
        [
            MOUNT_1.format(point=memory, controller="memory"),
            MOUNT_1.format(point=tmp_path / "pids", controller="pids"),
            MOUNT_2.format(root="/", point=tmp_path / "unified"),
        ]
    )
    candidates = cgroup._candidates("4:memory:/job\n8:pids:/job\n0::/\n", mounts)
    assert candidates == [cgroup.Parents(1, memory / "job", pids)]
    with_cpu = cgroup._candidates(
        "4:memory:/job\n8:pids:/job\n0::/\n",
        mounts + MOUNT_1.format(point=tmp_path, controller="cpu,cpuacct"),
    )
    # Memory is limited even if the CPU share can't be set.
    assert with_cpu == [cgroup.Parents(1, memory / "job", pids, tmp_path), *candidates]


def test_a_leaf_that_cannot_be_set_up_is_removed_again(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"memory\.max"):
        cgroup.Leaf(
            cgroup.Parents(2, tmp_path, tmp_path), "samehere-1-x-1", memory_bytes=64 * MIB, processes=16
        )
    assert list(tmp_path.iterdir()) == []


def test_leaves_of_nodes_that_are_gone_are_swept(tmp_path: Path) -> None:
    dead, mine, other = (
        tmp_path / "samehere-4194305-slot0-1",
        tmp_path / cgroup.leaf_name("slot0", 1),
        tmp_path / "someone-else",
    )
    with subprocess.Popen(["/bin/true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        # A zombie: in a container without an init, nobody reaps it.
        unreaped = tmp_path / f"samehere-{ended.pid}-slot0-1"
        for folder in (dead, unreaped, mine, other):
            folder.mkdir()
        cgroup._sweep(cgroup.Parents(2, tmp_path, tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([mine, other])


@pytest.mark.skipif(cgroup.find().parents is None, reason="no cgroup can be made here")
def test_a_real_leaf() -> None:
    parents = cgroup.find().parents
    assert parents is not None
    leaf = cgroup.Leaf(parents, cgroup.leaf_name("test", 1), memory_bytes=64 * MIB, processes=16)
    pid = os.fork()
    if pid == 0:
        os.read(os.pipe()[0], 1)
    leaf.add(pid)
    for folder in parents.folders:
        assert not cgroup._remove(folder / cgroup.leaf_name("test", 1), 0.0)
    assert (leaf.oom_kills(), leaf.used_bytes() < 64 * MIB) == (0, True)
    if parents.cpu is not None:
        # A job with one busy thread gets less of a core than a process of the service.
        assert int((parents.cpu / cgroup.leaf_name("test", 1) / "cpu.shares").read_text()) < (
            1024 * len(os.sched_getaffinity(0))
        )
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert leaf.remove()


EXPECTS = """
import os, sys
from pathlib import Path
from worker.sandbox.resources import cgroup
parents = cgroup.find().parents
leaf = cgroup.Leaf(parents, cgroup.leaf_name("expects", 1), memory_bytes=1 << 28, processes=64)
before = Path("/proc/self/cgroup").read_text()
leaf.expect()
assert Path("/proc/self/cgroup").read_text() == before
# Somebody moves us: it does not move us back.
leaf.add(os.getpid())
moved = Path("/proc/self/cgroup").read_text()
leaf.expect()
assert moved != before and Path("/proc/self/cgroup").read_text() == moved
for folder in parents.folders: (folder / "cgroup.procs").write_text(str(os.getpid()))
assert leaf.remove()
print(parents.home is not None)
"""


@pytest.mark.sandbox
@pytest.mark.skipif(cgroup.find().parents is None, reason="no cgroup can be made here")
def test_to_expect_a_move_moves_nothing() -> None:
    process = subprocess.run(
        [sys.executable, "-c", EXPECTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (process.stdout, process.stderr) == ("True\n", "")
