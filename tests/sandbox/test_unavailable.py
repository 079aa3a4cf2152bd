"""Without isolation, nothing runs, and the message says why and how to fix it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_runner import AS_ROOT, ROOT

from worker.contract import Level
from worker.sandbox.isolation import advice
from worker.sandbox.resources import cgroup

# Like a container's default profile: it denies the node the calls that the sandbox needs.
FILTERED = """
import ctypes, sys
from worker.sandbox.isolation import seccomp
program = seccomp.build_filter(memory_is_counted=True)
buffer = ctypes.create_string_buffer(program, len(program))
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("at", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))), 0,
    0) == 0
"""
# Like a container's masked paths: something is mounted over a part of /proc.
MASKED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0
assert libc.mount(b"none", b"/", None, ctypes.c_ulong(16384 | (1 << 18)), None) == 0
assert libc.mount(b"/dev/null", b"/proc/keys", None, ctypes.c_ulong(4096), None) == 0
"""
TRY = """
from pathlib import Path
from worker.sandbox import detect
found = detect(home=Path(sys.argv[1]))
print(found.level)
print(found.detail)
"""


def _detect_after(preparation: str, home: Path) -> tuple[str, str]:
    source = "import sys\n" + preparation + TRY
    output = subprocess.check_output([sys.executable, "-c", source, str(home)], cwd=ROOT, text=True)
    level, _, detail = output.partition("\n")
    return level, detail


def test_here_it_can_be_had(sandbox_home: Path) -> None:
    level, _ = _detect_after("", sandbox_home)
    assert level in (Level.NAMESPACES, Level.NAMESPACES_CGROUP)


def test_in_a_container_with_the_default_filter(sandbox_home: Path) -> None:
    level, detail = _detect_after(FILTERED, sandbox_home)
    assert level == "None"
    assert "Operation not permitted" in detail or "No permissions" in detail
    assert "--security-opt seccomp=unconfined --security-opt systempaths=unconfined" in detail


@pytest.mark.skipif(not AS_ROOT or not Path("/proc/keys").exists(), reason="only root mounts")
def test_in_a_container_with_masked_paths(sandbox_home: Path) -> None:
    level, detail = _detect_after(MASKED, sandbox_home)
    assert level == "None"
    assert "systempaths=unconfined" in detail


def test_the_weaker_level_is_offered_and_never_taken_by_itself(sandbox_home: Path) -> None:
    level, detail = _detect_after(FILTERED, sandbox_home)
    assert level == "None"
    assert "--isolation landlock+seccomp" in detail


@pytest.mark.skipif(not AS_ROOT or cgroup.find().parents is None, reason="cgroups cannot be made here anyway")
def test_a_cgroup_that_cannot_be_made(sandbox_home: Path) -> None:
    preparation = """
from worker.sandbox.resources import cgroup
from pathlib import Path
nothing = cgroup.find(mountinfo="")
cgroup._support = nothing
"""
    level, detail = _detect_after(preparation, sandbox_home)
    assert level == Level.NAMESPACES
    assert detail.startswith("memory is checked by polling; no cgroup for each job")
    assert "Delegate=yes" in detail


def test_the_advice_for_what_is_not_known() -> None:
    assert (
        advice.explain("bwrap: Can't mount proc on /newroot/proc: Operation not permitted").count(
            "systempaths=unconfined"
        )
        >= 1
    )
    assert advice.explain("strange.").startswith("isolation does not work here: strange. ")
