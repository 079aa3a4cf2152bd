"""A catalogue of attacks, inside on every backend and outside as the control; and permitted actions."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sandbox_jobs import Jobs
from sandbox_runner import AS_ROOT, NODE_PYTHON, SECRET

from worker.contract import Level

PROBE = Path(__file__).with_name("attack_probe.py")
KEYCTL, ADD_KEY = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]

# The gaps of the level without namespaces, as docs/security.md lists them; they must be exactly these.
OPEN_BY_LANDLOCK = {"mounts of the host", "a route", "processes of the host"}
# No service trusts a slot's own uid; with a user's own uid, a program may connect to nothing.
OPEN_BY_OWN_UID = {"pathname unix socket", "datagram to a pathname unix socket"}
# Ordinary actions that fail at that level, since it has no file system and no network of its own.
MISSING_BY_LANDLOCK = {"works: own loopback", "works: own name", "works: /tmp by name", "works: terminal"}
# With a shared uid, no file's mode may be changed, since Landlock only restricts how files are opened.
MISSING_BY_SHARED_UID = {"works: mode of an own file", "works: a socket of one's own"}
# The filter must deny these, even if this kernel refuses them anyway.
BY_THE_FILTER = {
    **dict.fromkeys(
        ("trace oneself", "bpf", "acct", "kernel log", "add_key", "personality", "name_to_handle_at"), "EPERM"
    ),
    **dict.fromkeys(
        ("read one's own memory by a call", "perf_event_open", "userfaultfd", "a key of the node"), "EPERM"
    ),
    **dict.fromkeys(("clone3 user", "io_uring", "a call newer than the list"), "ENOSYS"),
    **{
        f"socket: {name}": "EAFNOSUPPORT"
        for name in ("vsock", "packet", "crypto", "netlink audit", "netlink filter", "xdp", "key")
    },
}
# These do not work on this machine: its kernel was built without them.
NOT_HERE = {"ENOSYS", "ENOENT", "ENODEV", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP"}
# A kernel may refuse this to root too: real-time scheduling, if the cgroup has no share of it.
KEPT_FROM_ROOT = {("real time", "EPERM")}


@dataclass
class Bait:
    """Targets on the host: a secret file, services on loopback, two unix sockets, a shared segment."""

    folder: Path
    sockets: list[socket.socket] = field(default_factory=list)

    @property
    def secret(self) -> Path:
        return self.folder / "database"

    def arguments(self, *, supervision: int = 0) -> list[str]:
        port = self.sockets[2].getsockname()[1]
        return [self.folder.name, str(self.folder / "socket"), str(self.secret), str(port), str(supervision)]


def _answer(udp: socket.socket) -> None:
    while True:
        try:
            _, address = udp.recvfrom(64)
            udp.sendto(b"pong", address)
        except OSError:
            return


@pytest.fixture
def bait() -> Iterator[Bait]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        bait = Bait(Path(name))
        bait.folder.chmod(0o755)
        bait.secret.write_text("row")
        bait.secret.chmod(0o644)
        abstract, pathname, tcp = (
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
            socket.create_server(("127.0.0.1", 0)),
        )
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(tcp.getsockname())
        abstract.bind(f"\0{bait.folder.name}")
        pathname.bind(f"{bait.folder}/socket")
        (bait.folder / "socket").chmod(0o777)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(f"{bait.folder}/socket-datagrams")
        (bait.folder / "socket-datagrams").chmod(0o777)
        bait.sockets = [abstract, pathname, tcp, udp, datagrams]
        for server in (abstract, pathname):
            server.listen(16)
        answering = threading.Thread(target=_answer, args=(udp,), daemon=True)
        answering.start()
        libc = ctypes.CDLL(None)
        segment = libc.shmget(tcp.getsockname()[1], 4096, 0o1666)
        assert segment >= 0
        yield bait
        libc.shmctl(segment, 0, None)
        for server in bait.sockets:
            server.close()


def _tried(output: str) -> dict[str, str]:
    return dict(json.loads(line) for line in output.splitlines())


def test_nothing_gets_out_and_what_torch_needs_works(walled: Jobs, bait: Bait) -> None:
    landlock, shared = walled.level is Level.LANDLOCK, walled.runner.uid is not None or not AS_ROOT
    if shared and AS_ROOT:
        os.chown(bait.secret, walled.runner.sandbox_uid, -1)  # type: ignore[arg-type]
    tried = _tried(walled.output_of(PROBE.read_text(), *bait.arguments()))
    got_out = {
        name for name, outcome in tried.items() if outcome == "OPEN" and not name.startswith("works: ")
    }
    failed = {name for name, outcome in tried.items() if outcome != "OPEN" and name.startswith("works: ")}
    assert got_out == (OPEN_BY_LANDLOCK if landlock else set()) | (
        OPEN_BY_OWN_UID if landlock and not shared else set()
    )
    assert failed == (MISSING_BY_LANDLOCK if landlock else set()) | (
        MISSING_BY_SHARED_UID if landlock and shared else set()
    )
    assert len(tried) > 97
    assert {name: tried[name] for name in BY_THE_FILTER} == BY_THE_FILTER


@pytest.mark.skipif(not AS_ROOT, reason="the control does as root what nobody else may")
def test_outside_every_attack_succeeds(bait: Bait) -> None:
    """The control attacks private namespaces, a process of ours, and files without a name."""
    source = f"""
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None)
libc.syscall({KEYCTL}, 1, 0)
libc.syscall({ADD_KEY}, b"user", b"samehere-test", b"secret", 6, -3)
os.dup2(0, 40)
target = subprocess.Popen(["/bin/sleep", "60"])
try:
    subprocess.run([sys.executable, *sys.argv[1:6], str(target.pid), "outside"], close_fds=False, check=True)
finally:
    target.kill()
"""
    command = [
        "unshare",
        "--mount",
        "--uts",
        "--cgroup",
        "--fork",
        NODE_PYTHON,
        "-c",
        source,
        str(PROBE),
        *bait.arguments()[:4],
    ]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        environment = {"TMPDIR": folder, "HOME": folder, "PATH": "/usr/bin:/bin", "NODE_SECRET": SECRET}
        control = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
    tried = _tried(control.stdout)
    # "Text file busy" for the running interpreter means that writing was permitted.
    denied = {name: outcome for name, outcome in tried.items() if outcome not in {"OPEN", "ETXTBSY"}}
    assert {(name, outcome) for name, outcome in denied.items() if outcome not in NOT_HERE} <= KEPT_FROM_ROOT
    assert len(denied) < 20, denied


def test_two_slots_at_once_see_nothing_of_each_other(jobs: Jobs) -> None:
    source = (
        "import os, time; time.sleep(0.5); "
        "print(sorted(name for name in os.listdir('/proc') if name.isdigit()))"
    )
    output: list[str] = []
    other = threading.Thread(target=lambda: output.append(jobs.output_of(source)))
    other.start()
    other.join()
    assert output == ["['1', '2']\n"]
