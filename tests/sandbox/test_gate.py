"""A job gets its card at its first touch, and in no other way. A harmless device node stands for a card."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, Jobs
from sandbox_runner import AS_ROOT, ROOT, GateFacts

from worker.sandbox import Ending, SandboxResult

pytestmark = pytest.mark.timeout(60)
CARD = "/dev/full"
TOUCH = f"""
import os, time
def touch():
    began = time.monotonic()
    fd = os.open({CARD!r}, os.O_RDWR | os.O_CLOEXEC)
    assert os.fstat(fd).st_rdev == os.makedev(1, 7)
    return time.monotonic() - began
"""


class Card:
    """A card that somebody else has, until so many seconds after its first touch."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def run(
        self,
        source: str,
        *,
        state: str = "99",
        most: float = 20.0,
        cancel_after: float | None = None,
        wall: float = 20.0,
    ) -> tuple[SandboxResult, GateFacts]:
        limits = SMALL.model_copy(update={"wall_seconds": wall})
        job = self.jobs.job(source, devices=(CARD,), limits=limits)
        return self.jobs.runner.run_gated(job, state=state, most_seconds=most, cancel_after=cancel_after)

    def output_of(self, source: str, *, state: str = "99") -> tuple[str, GateFacts]:
        result, facts = self.run(source, state=state)
        shown = (result.detail, result.stderr.head.decode(errors="replace"))
        assert (result.ending, result.exit_status) == (Ending.EXITED, 0), shown
        return result.stdout.head.decode(), facts


@pytest.fixture
def card(jobs: Jobs) -> Card:
    return Card(jobs)


def test_the_gate_works_here(jobs: Jobs) -> None:
    assert jobs.runner.ask("test_gate") == ""


def test_waiting_counts_against_no_limit(card: Card) -> None:
    """The script takes less than its limit, and waits longer than its limit."""
    source = TOUCH + "print(touch())\nprint(touch() < 0.5)"
    result, facts = card.run(source, state="2.2", wall=2.0)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0), result
    first, second = result.stdout.head.decode().split()
    assert float(first) > 2.0
    assert second == "True"
    assert facts.waited_seconds == pytest.approx(float(first), abs=0.3)
    assert result.wall_seconds < 2.0
    assert result.devices_opened == (CARD,)


def test_what_holds_the_card_has_its_limit(card: Card) -> None:
    result, facts = card.run(TOUCH + "touch()\ntime.sleep(60)", state="0", wall=1.0)
    assert (result.ending, result.idle) == (Ending.WALL_LIMIT, True)
    assert result.wall_seconds < 20
    assert facts.waited_seconds < 0.5


def test_what_touches_nothing_gets_nothing(card: Card) -> None:
    result, facts = card.run("open('/tmp/x', 'r+b' if False else 'w').write('x'); open('/dev/null', 'r+b')")
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert (result.devices_opened, facts.touches, facts.waited_seconds) == ((), 0, 0.0)


def test_children_wait_as_well(card: Card) -> None:
    source = (
        TOUCH
        + """
import subprocess, sys, threading
waits = []
thread = threading.Thread(target=lambda: waits.append(touch()))
thread.start()
program = f"import os, time\\ntime.sleep(0); os.open({CARD!r}, os.O_RDWR)"
child = subprocess.Popen([sys.executable, "-c", program])
forked = os.fork()
if forked == 0:
    touch(); os._exit(7)
# Other opens are answered meanwhile.
began = time.monotonic()
os.close(os.open("/dev/null", os.O_RDWR))
print(time.monotonic() - began < 0.3, not waits, child.poll())
time.sleep(0.2)
open("/tmp/ready", "w").close()
thread.join()
print(waits[0] > 0.3, child.wait(), os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]))
""".replace("{CARD!r}", repr(CARD))
    )
    output, _ = card.output_of(source, state="1.2")
    assert output == "True True None\nTrue 0 7\n"


def test_a_handler_does_not_interrupt_the_wait(card: Card) -> None:
    source = (
        TOUCH
        + """
import ctypes, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
libc = ctypes.CDLL(None, use_errno=True)
began = time.monotonic()
fd = libc.syscall(257 if os.uname().machine == "x86_64" else 56, -100, b"/dev/full", os.O_RDWR, 0)
print(fd >= 0, time.monotonic() - began > 0.3)
"""
    )
    assert card.output_of(source, state="0.6")[0] == "True True\n"


@pytest.mark.parametrize(
    ("state", "ending", "detail"),
    [
        ("99", Ending.CARD_NOT_FREE, "its card was not free within 0.5 s"),
        ("gone", Ending.CARD_NOT_FREE, "its card went out of use"),
        ("broken", Ending.GATE_FAILED, "the gate failed: RuntimeError: the driver is gone"),
    ],
)
def test_a_card_that_does_not_come(card: Card, state: str, ending: Ending, detail: str) -> None:
    # The program sees the fault of the gate, too, but its end does not count then.
    source = TOUCH + "try: touch()\nexcept OSError: raise SystemExit(5)"
    result, _ = card.run(source, state=state, most=0.5)
    assert (result.ending, result.detail, result.exit_status) == (ending, detail, None)
    assert result.wall_seconds < 20


def test_it_is_cancelled_while_it_waits(card: Card) -> None:
    result, _ = card.run(TOUCH + "touch()", cancel_after=0.5)
    assert result.ending is Ending.CANCELLED
    assert result.wall_seconds < 20


WAYS_AROUND = r"""
import ctypes, os, stat, struct
P = b"CARD"
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
def by_link():
    os.symlink(P, b"/tmp/link"); return os.open(b"/tmp/link", os.O_RDWR)
def by_hard_link():
    os.link(P, b"/tmp/hard"); return os.open(b"/tmp/hard", os.O_RDWR)
def by_path_descriptor(flags):
    return os.open("/proc/self/fd/%d" % os.open(P, os.O_PATH), flags)
def by_folder():
    return os.open("full", os.O_RDWR, dir_fd=os.open("/dev", os.O_RDONLY))
def by_new_node():
    os.mknod("/tmp/node", 0o600 | stat.S_IFCHR, os.stat(P).st_rdev); return os.open("/tmp/node", os.O_RDWR)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]
ALLOW = ctypes.byref(Program(1, struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)))
def by_own_filter():
    call(317, 1, 0, ALLOW); return os.open(P, os.O_RDONLY)
WAYS = {
    "read only": lambda: os.open(P, os.O_RDONLY),
    "read only, not blocking": lambda: os.open(P, os.O_RDONLY | os.O_NONBLOCK),
    "access mode 3": lambda: os.open(P, 3),
    "write only": lambda: os.open(P, os.O_WRONLY),
    "append": lambda: os.open(P, os.O_RDWR | os.O_APPEND),
    "create": lambda: os.open(P, os.O_RDWR | os.O_CREAT),
    "open, read only": lambda: call(2, P, 0, 0),
    "creat": lambda: call(85, P, 0o600),
    "openat2": lambda: call(437, -100, P, struct.pack("=QQQ", os.O_RDWR, 0, 0), ctypes.c_size_t(24)),
    "path descriptor, read only": lambda: by_path_descriptor(os.O_RDONLY),
    "path descriptor": lambda: by_path_descriptor(os.O_RDWR),
    "link": by_link,
    "hard link": by_hard_link,
    "folder": by_folder,
    "another spelling": lambda: os.open(b"//dev/./full", os.O_RDWR),
    "new node": by_new_node,
    "x32": lambda: call(0x40000000 | 257, -100, P, 2, 0),
    "handle": lambda: call(303, -100, P, ctypes.create_string_buffer(200), ctypes.byref(ctypes.c_int()), 0),
    "tree": lambda: call(428, -100, P, 1),
    "mount": lambda: call(165, P, b"/tmp/z", None, 4096, None),
    "namespace": lambda: call(272, 0x10000000),
    "ring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    "descriptor of another process": lambda: call(438, 0, 0, 0),
    "trace": lambda: call(101, 16, 1, 0, 0),
    "listener of its own": lambda: call(317, 1, 1 << 3, ALLOW),
    "filter of its own": by_own_filter,
}
for name, way in WAYS.items():
    try:
        fd = way()
    except OSError:
        continue
    try:
        status = os.fstat(fd)
    except OSError:
        print(name, "gave something else")
        continue
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 7):
        print(name, "gave the card")
# The path is one thing when the gate reads it, and another when the kernel does.
buffer = ctypes.create_string_buffer(P, 32)
import threading, time
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        def flip():
            while True:
                ctypes.memmove(buffer, P + b"\0", len(P) + 1); ctypes.memmove(buffer, b"/dev/null\0", 10)
        threading.Thread(target=flip, daemon=True).start()
        while True:
            fd = libc.syscall(257, -100, buffer, os.O_RDWR, 0)
            if fd >= 0:
                if os.fstat(fd).st_rdev == os.makedev(1, 7): os._exit(9)
                os.close(fd)
    children.append(child)
time.sleep(0.5)
for child in children:
    os.kill(child, 9)
    if os.waitpid(child, 0)[1] != 9: print("the race gave the card")
print("done")
""".replace("CARD", CARD)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86-64")
def test_ways_around(card: Card) -> None:
    """While somebody else has the card, nothing gets it."""
    output, facts = card.output_of(WAYS_AROUND)
    assert output == "done\n"
    assert facts.opened == frozenset()
    # The race did reach the gate.
    assert facts.touches > 0


def test_a_flood_takes_no_core(card: Card) -> None:
    source = """
import os, time
end = time.monotonic() + 1.5
reading, writing = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        count = 0
        while time.monotonic() < end:
            try: os.open("/nowhere", os.O_RDWR)
            except OSError: count += 1
        os.write(writing, b"%d\\n" % count)
        os._exit(0)
for _ in range(8): os.wait()
print(sum(map(int, os.read(reading, 1000).split())))
"""
    output, _ = card.output_of(source)
    assert 100 < int(output) < 2000 + 3 * 1000 + 500


OUTER = """
import ctypes, struct, sys
from pathlib import Path
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if sys.argv[2] == "listened to":
    program = Program(1, struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    assert libc.syscall(317, 1, 1 << 3, ctypes.byref(program)) >= 0
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
private_mounts.enter()
print(Sandbox(slot=96, home=Path(sys.argv[1])).test_gate())
"""


@pytest.mark.skipif(not AS_ROOT, reason="root drops a capability here")
@pytest.mark.parametrize("how", ["listened to", "without ptrace"])
def test_a_machine_without_a_gate_is_noticed(sandbox_home: Path, how: str) -> None:
    """Root without the right to trace reads the program's memory as the slot's user."""
    drop = (
        ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"] if how == "without ptrace" else []
    )
    process = subprocess.run(
        [*drop, sys.executable, "-c", OUTER, str(sandbox_home), how],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=30,
    )
    assert process.returncode == 0, process.stderr
    if how == "without ptrace":
        assert process.stdout == "\n"
    else:
        assert "already listens to system calls" in process.stdout
