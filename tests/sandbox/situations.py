"""Emulates other kinds of machines for one process: each is Python code to run before the node's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from running_service import own_uids
from sandbox_runner import PLAIN_UID, ROOT, readable_path, readable_prefix

_TOOLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def own_mounts():
    check(libc.unshare(0x20000))
    check(libc.mount(b"none", b"/", None, ctypes.c_ulong(16384 | 1 << 18), None))
"""
# Like `sysctl user.max_user_namespaces=0`, but set in a user
# namespace of this process, so that it affects nothing else.
NO_USER_NAMESPACES = """
uid, gid = os.getuid(), os.getgid()
check(libc.unshare(0x10000000))
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
open("/proc/sys/user/max_user_namespaces", "w").write("0")
"""
NO_CGROUP = """
own_mounts()
import subprocess
subprocess.run(["umount", "--recursive", "/sys/fs/cgroup"], check=True)
"""
# Docker's default: fourteen capabilities, masked and read-only parts of /proc,
# no writable cgroup, and a filter of the calls that need CAP_SYS_ADMIN. (Our
# own filter denies these and more, except for what Landlock needs.)
STOCK_CONTAINER = """
own_mounts()
check(libc.mount(b"run", b"/run", b"tmpfs", ctypes.c_ulong(0), None))
open("/run/.containerenv", "w").close()
check(libc.mount(b"/dev/null", b"/proc/keys", None, ctypes.c_ulong(4096), None))
check(libc.mount(b"/proc/sys", b"/proc/sys", None, ctypes.c_ulong(4096), None))
check(libc.mount(b"none", b"/proc/sys", None, ctypes.c_ulong(4096 | 32 | 1), None))
import subprocess
subprocess.run(["umount", "--recursive", "/sys/fs/cgroup"], check=True)
for number in range(64):
    if number not in {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}:
        libc.prctl(24, number, 0, 0, 0)
# From the bounding set into force, as by a start of a program.
class Header(ctypes.Structure): _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
kept = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31))
sets = (ctypes.c_uint32 * 6)(kept & 0xFFFFFFFF, kept & 0xFFFFFFFF, 0, 0, 0, 0)
check(libc.capset(ctypes.byref(Header(0x20080522, 0)), sets))
from worker.sandbox.isolation import seccomp
program = seccomp.build_filter(memory_is_counted=True)
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("at", ctypes.c_char_p)]
check(libc.prctl(38, 1, 0, 0, 0))
check(libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0))
"""
_EXAMINE = """
import json, sys
from pathlib import Path
from worker.contract import Level
from worker.sandbox import doctor
named = Level(sys.argv[3]) if len(sys.argv) > 3 else None
examination = doctor.examine(home=Path(sys.argv[1]), level=named, first_uid=int(sys.argv[2]))
print(json.dumps(examination.as_json()))
"""


def examine(situation: str, home: Path, *, named: str = "", as_plain_user: bool = False) -> dict[str, Any]:
    """The doctor's examination in that situation, as JSON."""
    uid = PLAIN_UID if as_plain_user else None
    prefix, path = readable_prefix(uid=uid), readable_path(uid=uid)
    process = subprocess.run(
        [
            f"{prefix}/bin/python3.{sys.version_info.minor}",
            "-c",
            _TOOLS + situation + _EXAMINE,
            str(home),
            own_uids()["SAMEHERE_FIRST_UID"],
            *filter(None, [named]),
        ],
        cwd="/" if as_plain_user else ROOT,
        env={
            "PYTHONPATH": ":".join(path),
            "LD_LIBRARY_PATH": f"{prefix}/lib",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": "/usr/bin:/bin",
        },
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    examination = json.loads(process.stdout)
    assert isinstance(examination, dict)
    return examination
