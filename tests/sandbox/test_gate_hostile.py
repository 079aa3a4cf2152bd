"""Hostile scripts at the gate: they keep the card no longer, get no second one, and leave nothing behind.

The harmless node `/dev/full` stands for the card of the job, and `/dev/fuse` for another card of the machine.
The node is that of a plain user, whose slots have no user of their own: it has the fewest walls.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, Jobs
from sandbox_runner import GateFacts

from worker.sandbox import Ending, SandboxResult

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.parametrize("runner", ["plain"], indirect=True),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86-64"),
]
CARD = "/dev/full"
START = f"""
import ctypes, os, signal, socket, stat, struct, subprocess, sys, threading, time
CARD = {CARD!r}
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def touch(): return os.open(CARD, os.O_RDWR | os.O_CLOEXEC)
def is_card(fd): return os.fstat(fd).st_rdev == os.makedev(1, 7)
"""


class Slot:
    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.marker = secrets.token_hex(16)

    def run(
        self, source: str, *, state: str = "0", wall: float = 20.0, most: float = 20.0
    ) -> tuple[SandboxResult, GateFacts]:
        limits = SMALL.model_copy(update={"wall_seconds": wall})
        job = self.jobs.job(
            START + source, devices=(CARD,), limits=limits, variables={"HOSTILE": self.marker}
        )
        return self.jobs.runner.run_gated(job, state=state, most_seconds=most)


@pytest.fixture
def slot(jobs: Jobs) -> Slot:
    return Slot(jobs)


def processes_with(marker: str) -> list[int]:
    """The processes of this machine that have the marker among their variables."""
    alive = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker.encode() in (folder / "environ").read_bytes():
                alive.append(int(folder.name))
        except OSError:
            continue
    return alive


# Each way holds on to the card, and tries to outlive the limit of time.
HOLDERS = {
    "a fork bomb": """
touch()
while True:
    try: os.fork(); time.sleep(0.01)
    except OSError: time.sleep(0.1)
""",
    "orphans in sessions of their own": """
fd = touch()
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65))
            while True: time.sleep(9)
        os._exit(0)
os._exit(0)
""",
    "exec with the descriptor": """
fd = touch()
os.set_inheritable(fd, True)
os.execv(sys.executable, [sys.executable, "-c", f"import os, time; assert os.fstat({fd}); time.sleep(60)"])
""",
    "a shared table of descriptors": """
fd = touch()
# CLONE_FILES | SIGCHLD, as vfork does, but both go on.
if libc.syscall(56, 0x400 | 17, 0, 0, 0, 0) == 0:
    while True: time.sleep(9)
while True: time.sleep(9)
""",
    "a descriptor in transit": """
fd = touch()
one, other = socket.socketpair()
for _ in range(50): socket.send_fds(one, [b"x"], [fd])
os.close(fd)
# The queue is the only one that holds it, and a queue that holds itself is collected late.
socket.send_fds(one, [b"x"], [other.fileno(), one.fileno()])
while True: time.sleep(9)
""",
    "threads that open and close": """
def spin():
    while True: os.close(touch())
for _ in range(16): threading.Thread(target=spin, daemon=True).start()
while True: time.sleep(9)
""",
    "signals and stops": """
fd = touch()
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    while True:
        try: os.kill(os.getppid(), signal.SIGSTOP); os.kill(1, signal.SIGKILL); os.kill(-1, signal.SIGSTOP)
        except OSError: time.sleep(0.01)
while True: time.sleep(9)
""",
    "a traced child": """
fd = touch()
child = os.fork()
if child == 0:
    try: call(101, 0, 0, 0, 0)
    except OSError: pass
    os.kill(os.getpid(), signal.SIGSTOP)
while True: time.sleep(9)
""",
    "mapped memory": """
import mmap
fd = touch()
try: area = mmap.mmap(fd, 4096)
except OSError: pass
while True: time.sleep(9)
""",
}


def test_a_process_that_is_left_would_be_seen(slot: Slot) -> None:
    with subprocess.Popen(["sleep", "60"], env={"HOSTILE": slot.marker, "PATH": "/usr/bin:/bin"}) as child:
        assert processes_with(slot.marker) == [child.pid]
        child.kill()


@pytest.mark.parametrize("how", HOLDERS)
def test_nothing_keeps_the_card_beyond_the_limit(slot: Slot, how: str) -> None:
    """When the job is over, none of its processes is left, and the next job gets the card at once."""
    began = time.monotonic()
    result, _ = slot.run(HOLDERS[how], wall=1.0)
    assert result.ending in {Ending.WALL_LIMIT, Ending.EXITED, Ending.MEMORY_LIMIT}, result
    # All of them have to be found and ended, on a machine that others use too.
    assert time.monotonic() - began < 40
    assert result.wall_seconds < 12
    assert processes_with(slot.marker) == []
    again, facts = slot.run("print(is_card(touch()))")
    assert again.stdout.head == b"True\n", again
    assert facts.waited_seconds < 2


OTHER_CARD = """
OTHER = os.makedev(10, 229)
def is_other(fd):
    try: status = os.fstat(fd)
    except OSError: return False
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == OTHER
fd = touch()
assert is_card(fd)
how = struct.pack("=QQQ", os.O_RDWR | os.O_CLOEXEC, 0, 0)
def openat2(path, flags, resolve=0, at=-100):
    return call(437, at, path, struct.pack("=QQQ", flags, 0, resolve), ctypes.c_size_t(24))
def new_node():
    os.mknod("/tmp/second", 0o600 | stat.S_IFCHR, OTHER); return os.open("/tmp/second", os.O_RDWR)
def over_the_name():
    os.rename("/dev/fuse", CARD); return touch()
def bound():
    call(165, b"/dev/fuse", CARD.encode(), None, 4096, None); return touch()
def linked():
    os.unlink(CARD); os.symlink("/dev/fuse", CARD); return touch()
def through_the_first(name): return os.open(f"/proc/self/fd/{fd}/../{name}", os.O_RDWR)
def through_its_folder():
    folder = os.path.dirname(os.readlink(f"/proc/self/fd/{fd}"))
    return os.open("fuse", os.O_RDWR, dir_fd=os.open(folder, os.O_RDONLY))
def of_a_process(pid): return os.open(f"/proc/{pid}/fd/3", os.O_RDWR)
def root_of(pid): return os.open(f"/proc/{pid}/root/dev/fuse", os.O_RDWR)
def pidfd(): return call(438, call(434, 1, 0), 3, 0)
WAYS = {
    "second node": new_node, "rename": over_the_name, "bind": bound, "link": linked,
    "through the first": lambda: through_the_first("fuse"), "through its folder": through_its_folder,
    "pid 1": lambda: of_a_process(1), "parent": lambda: of_a_process(os.getppid()),
    "root of pid 1": lambda: root_of(1), "root of the parent": lambda: root_of(os.getppid()),
    "pidfd": pidfd,
    "openat2 beneath": lambda: openat2(b"dev/fuse", os.O_RDWR, 0x08, os.open("/", os.O_RDONLY)),
    "openat2 in root": lambda: openat2(b"/dev/fuse", os.O_RDWR, 0x10, os.open("/", os.O_RDONLY)),
    "openat2, path only": lambda: os.open("/proc/self/fd/%d" % openat2(b"/dev/fuse", 0o10000000), os.O_RDWR),
    "ring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    "listener": lambda: call(317, 1, 1 << 3, ctypes.create_string_buffer(16)),
    "trace the parent": lambda: call(101, 16, os.getppid(), 0, 0),
}
for name, way in WAYS.items():
    try: got = way()
    except (OSError, ValueError): continue
    if name == "listener" or got is not None and is_other(got): print(name)
print("done")
"""


def test_nobody_gets_a_second_card(slot: Slot) -> None:
    """Also once the gate is open for the first one."""
    result, facts = slot.run(OTHER_CARD)
    assert (result.ending, result.stdout.head) == (Ending.EXITED, b"done\n"), result
    assert facts.opened == {CARD}


REOPEN = """
# Others hold the card: nothing of these opens it, and none of them ends the gate.
def by_thread():
    got = []
    thread = threading.Thread(target=lambda: got.append(os.open(CARD, os.O_RDONLY)))
    thread.start(); thread.join(); return got[0]
def by_number(flags):
    return call(2, CARD.encode(), flags, 0)
def odd(flags, resolve=0):
    return call(437, -100, CARD.encode(), struct.pack("=QQQ", flags, 0, resolve), ctypes.c_size_t(24))
path = os.open(CARD, os.O_PATH)
WAYS = [
    lambda: os.open(f"/proc/self/fd/{path}", os.O_RDONLY),
    lambda: os.open(f"/proc/self/fd/{path}", os.O_RDWR | os.O_APPEND),
    lambda: os.open(f"/proc/{os.getpid()}/fd/{path}", os.O_WRONLY),
    lambda: os.open(f"/proc/thread-self/fd/{path}", 3),
    lambda: os.open("", os.O_RDWR | 0x1000, dir_fd=path),
    by_thread,
    lambda: by_number(os.O_RDWR | os.O_SYNC),
    lambda: by_number(os.O_RDWR | os.O_DIRECT),
    lambda: by_number(os.O_RDWR | os.O_ASYNC),
    lambda: by_number(os.O_RDWR | 1 << 30),
    lambda: by_number(os.O_RDWR | os.O_TRUNC),
    lambda: by_number(os.O_RDWR | os.O_NOFOLLOW | os.O_NOATIME),
    lambda: odd(os.O_RDWR), lambda: odd(os.O_RDWR | os.O_CLOEXEC, 0x01), lambda: odd(os.O_RDWR, 0x20),
    lambda: odd(os.O_RDWR, 0x04), lambda: odd(0o10000000), lambda: odd(os.O_RDONLY | os.O_NONBLOCK),
]
for number, way in enumerate(WAYS):
    try: fd = way()
    except (OSError, IndexError): continue
    try: os.read(fd, 1)
    except OSError as error:
        # A path descriptor is no card.
        if error.errno == 9: continue
    print(number, "gave the card")
one, other = socket.socketpair()
try:
    socket.send_fds(one, [b"x"], [path])
    passed = socket.recv_fds(other, 1, 1)[1][0]
    os.read(passed, 1); print("passing gave the card")
except OSError: pass
# The gate still answers, and this call gets the card once it is free.
print(is_card(touch()))
"""


def test_odd_opens_and_passing_get_nothing_and_do_no_harm(slot: Slot) -> None:
    result, facts = slot.run(REOPEN, state="1.5")
    assert (result.ending, result.stdout.head) == (Ending.EXITED, b"True\n"), result
    assert facts.opened == {CARD}


RACES = {
    "waiting threads that are killed": """
def wait_for_card():
    try: touch()
    except OSError: pass
for _ in range(30):
    child = os.fork()
    if child == 0:
        for _ in range(4): threading.Thread(target=wait_for_card).start()
        time.sleep(9)
    time.sleep(0.01); os.kill(child, 9); os.waitpid(child, 0)
""",
    "exec while another thread waits": """
for _ in range(8):
    child = os.fork()
    if child == 0:
        for _ in range(3): threading.Thread(target=touch).start()
        time.sleep(0.03); os.execv("/bin/true", ["true"]) if os.path.exists("/bin/true") else os._exit(0)
    os.waitpid(child, 0)
""",
    "a full table of descriptors": """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (12, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
fds = []
try:
    while True: fds.append(os.dup(0))
except OSError: pass
try: print("got", touch())
except OSError as error: assert error.errno == 24, error
for fd in fds: os.close(fd)
""",
    "a path at the end of memory": """
import mmap
area = mmap.mmap(-1, 8192)
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
area[8192 - len(CARD):] = CARD.encode()
libc.munmap(ctypes.c_void_p(address + 8192), ctypes.c_size_t(4096))
for where in (address + 8192 - len(CARD), 0, 1, -1, address + 8191, 0x7FFFFFFFF000):
    libc.syscall(257, -100, ctypes.c_void_p(where), os.O_RDWR, 0)
""",
    "table shared by clone": """
# CLONE_FILES | SIGCHLD: the child waits, and what it gets lands in the table of both.
child = libc.syscall(56, 0x400 | 17, 0, 0, 0, 0)
if child == 0:
    try: touch()
    except OSError: pass
    os._exit(0)
time.sleep(0.1); os.kill(child, 9); os.waitpid(child, 0)
""",
}


@pytest.mark.parametrize("how", RACES)
def test_no_race_at_the_gate_stops_it(slot: Slot, how: str) -> None:
    """After it the card is had in the plain way, and the gate has no fault."""
    result, facts = slot.run(RACES[how] + "\nprint(is_card(touch()))", state="1.0")
    assert result.ending is Ending.EXITED, result
    assert result.stdout.head == b"True\n", result
    assert facts.opened == {CARD}


def test_a_long_wait_ends_and_is_no_time_of_the_script(slot: Slot) -> None:
    """It waits in many processes and threads, ignores signals, and ends with its time at the gate."""
    source = """
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(5):
    if os.fork() == 0: break
for _ in range(8): threading.Thread(target=touch).start()
"""
    began = time.monotonic()
    result, facts = slot.run(source, state="99", most=1.0)
    assert result.ending is Ending.CARD_NOT_FREE, result
    assert time.monotonic() - began < 12
    assert facts.opened == frozenset()


def test_the_supervisor_can_not_be_reached(slot: Slot) -> None:
    """The launcher, pid 1 and the node are out of reach of signals, of tracing, and of their descriptors."""
    source = """
touch()
reached = []
for pid in {0, 1, 2, os.getppid(), *range(2, 400)} - {os.getpid()}:
    for name, way in {
        "trace": lambda: call(101, 16, pid, 0, 0),
        "memory": lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR),
        "descriptors": lambda: os.listdir(f"/proc/{pid}/fd") if pid != 0 else call(438, -1, 0, 0),
        "pidfd": lambda: call(438, call(434, pid, 0), 0, 0),
    }.items():
        try: way()
        except OSError: continue
        reached.append((pid, name))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
    for pid in (1, os.getppid()):
        try: os.kill(pid, number)
        except OSError: pass
time.sleep(0.3)
print(reached, is_card(touch()))
"""
    result, _ = slot.run(source)
    assert (result.ending, result.stdout.head) == (Ending.EXITED, b"[] True\n"), result
