"""A small attack on the sandbox from inside. It must fail before untrusted code may run."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Protocol

from worker.contract import MIB, Level, Limits
from worker.sandbox.job import Bind, Ending, SandboxJob, SandboxResult

_LIMITS = Limits(wall_seconds=30, memory_bytes=512 * MIB, scratch_bytes=16 * MIB)

# It prints a line of JSON for each action that should have failed but succeeded.
_PROBE = """
import json, os, socket

def succeeds(name, attempt):
    try:
        attempt()
    except OSError:
        return
    print(json.dumps(name), flush=True)

def other_processes():
    if sum(name.isdigit() for name in os.listdir("/proc")) > 3: return
    raise OSError

def routes():
    if len(open("/proc/net/route").read().splitlines()) < 2: raise OSError

def privileges():
    lines = open("/proc/self/status").read().splitlines()
    fields = dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)
    has_none = fields["NoNewPrivs"] == "1" and int(fields["CapEff"], 16) == 0
    if has_none and fields["Seccomp"] == "2": raise OSError

succeeds("it holds privileges, or no filter of system calls is in force", privileges)
succeeds("it sees processes of the host", other_processes)
succeeds("it has a route out of its network", routes)
succeeds("it opens a socket of the host's network", lambda: socket.socket().close())
succeeds("it signals its own supervision", lambda: os.kill(os.getppid(), 0))
succeeds("it opens a raw socket", lambda: socket.socket(17, 3).close())
succeeds("it opens a socket to the hypervisor", lambda: socket.socket(40, 1).close())
succeeds("it reads the memory of pid 1", lambda: os.close(os.open("/proc/1/mem", os.O_RDONLY)))
succeeds("it reads the environment of pid 1", lambda: open("/proc/1/environ").read())
succeeds("it reads the host's accounts", lambda: open("/etc/shadow").read())
succeeds("it writes to /usr", lambda: open("/usr/x", "w"))
succeeds("it writes to /etc", lambda: open("/etc/x", "w"))
succeeds("it writes to /dev", lambda: open("/dev/x", "w"))
succeeds("it writes the kernel's settings", lambda: open("/proc/sys/kernel/core_pattern", "w").close())
"""


# The actions that each level permits by its definition. In a network namespace a socket leads nowhere, and in
# a pid namespace pid 1 ignores signals from inside.
_PERMITTED = {
    Level.LANDLOCK: {"it sees processes of the host", "it has a route out of its network"},
    Level.NAMESPACES: {"it opens a socket of the host's network", "it signals its own supervision"},
    Level.NAMESPACES_CGROUP: {"it opens a socket of the host's network", "it signals its own supervision"},
}


class Testable(Protocol):
    """A sandbox that can be tested from inside."""

    @property
    def level(self) -> Level:
        """The level of isolation."""

    @property
    def level_detail(self) -> str:
        """Why the level is not higher."""

    def run(self, job: SandboxJob, *, cancelled: threading.Event) -> SandboxResult:
        """Run one job to its end."""


def find_python() -> tuple[str, tuple[Bind, ...]]:
    """A Python for our own programs in the sandbox, and the folders that it needs."""
    if Path("/usr/bin/python3").exists():
        return "/usr/bin/python3", ()
    return str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")), (
        Bind(sys.base_prefix, sys.base_prefix),
    )


def problems(sandbox: Testable) -> list[str]:
    """The actions that should have failed but succeeded, as sentences; or why the probe itself failed."""
    if sandbox.level is Level.LIMITS_ONLY:
        return [sandbox.level_detail]
    python, binds = find_python()
    job = SandboxJob(
        argv=(python, "-I", "/home/u/script.py"),
        files={"/home/u/script.py": _PROBE.encode()},
        binds=binds,
        limits=_LIMITS,
    )
    result = sandbox.run(job, cancelled=threading.Event())
    if result.ending is not Ending.EXITED or result.exit_status != 0:
        reason = result.detail or result.stderr.head.decode(errors="replace")[-500:]
        return [f"the test program did not finish: {reason}"]
    succeeded = [json.loads(line) for line in result.stdout.head.decode().splitlines()]
    return [
        f"a program is not isolated: {name}" for name in succeeded if name not in _PERMITTED[sandbox.level]
    ]
