"""A job's resources are limited, and the result says that a limit ended it.

Every attack also limits itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, Jobs, until_gone
from sandbox_runner import Runner

from worker.contract import MIB, Level
from worker.sandbox import Ending
from worker.sandbox.resources import cgroup, processes
from worker.sandbox.resources.limits import process_limit

TIGHT = SMALL.model_copy(update={"memory_bytes": 256 * MIB, "wall_seconds": 15.0})
BRIEF = SMALL.model_copy(update={"wall_seconds": 1.5})


def test_fork_bomb(jobs: Jobs) -> None:
    most = process_limit(SMALL)
    source = f"""
import os, time
count = 0
try:
    while count < {2 * most}:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        count += 1
except OSError as error:
    print(error.strerror, {most} - 5 <= count <= {most})
"""
    assert jobs.output_of(source) == "Resource temporarily unavailable True\n"


def test_fork_storm_is_killed_whole(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    source = """
import os, signal, time
for number in (1, 2, 15, 17): signal.signal(number, signal.SIG_IGN)
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
"""
    result = jobs.run(source, marker, limits=BRIEF)
    assert result.ending is Ending.WALL_LIMIT
    until_gone(marker)


HOG = """
blocks = []
for _ in range(40):
    block = bytearray(25 << 20)
    blocks.append(block)
    for at in range(0, len(block), 4096): block[at] = 1
print("got 1000 MiB")
"""
SHARED = """
import mmap
blocks = []
for _ in range(40):
    block = mmap.mmap(-1, 25 << 20)
    blocks.append(block)
    for at in range(0, len(block), 4096): block[at] = 1
print("got 1000 MiB")
"""
CHILDREN = """
import os, time
children = []
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        block = bytearray(60 << 20)
        for at in range(0, len(block), 4096): block[at] = 1
        time.sleep(3)
        os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
raise SystemExit(0)
"""


def test_memory_of_one_process(jobs: Jobs) -> None:
    result = jobs.run(HOG, limits=TIGHT)
    assert (result.ending, result.exit_status, result.signal) == (Ending.MEMORY_LIMIT, None, None)
    assert result.detail
    assert b"got" not in result.stdout.head


def test_shared_memory(jobs: Jobs) -> None:
    assert jobs.run(SHARED, limits=TIGHT).ending is Ending.MEMORY_LIMIT


def test_memory_of_children_although_the_program_exits_0(jobs: Jobs) -> None:
    result = jobs.run(CHILDREN, limits=TIGHT)
    assert (result.ending, result.exit_status) == (Ending.MEMORY_LIMIT, None)


def test_memory_that_is_shared_by_fork_counts_once(jobs: Jobs) -> None:
    source = """
import os, time
block = bytearray(120 << 20)
for at in range(0, len(block), 4096): block[at] = 1
children = [os.fork() or time.sleep(1) or os._exit(0) for _ in range(4)]
print([os.waitpid(pid, 0)[1] for pid in children])
"""
    assert jobs.output_of(source, limits=TIGHT) == "[0, 0, 0, 0]\n"


def test_memory_that_belongs_to_no_process(jobs: Jobs) -> None:
    source = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
held = 0
try:
    keep = [os.memfd_create("x") for _ in range(10)]
    for fd in keep:
        for _ in range(50): os.write(fd, bytes(1 << 20))
        held += 50
except OSError as error: print("memfd:", error.strerror)
for _ in range(10):
    number = libc.shmget(0, 50 << 20, 0o1600)
    if number < 0:
        print("shm:", os.strerror(ctypes.get_errno()))
        break
    place = libc.shmat(number, None, 0)
    ctypes.memset(place, 1, 50 << 20)
    libc.shmdt(place)
    held += 50
time.sleep(0.5)
print(held)
"""
    result = jobs.run(source, limits=TIGHT)
    if jobs.counted:
        assert result.ending is Ending.MEMORY_LIMIT
    else:
        assert result.stdout.head == b"memfd: Operation not permitted\nshm: Operation not permitted\n0\n"


PAGE_TABLES = """
import ctypes, mmap, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
    ctypes.c_long]
size = 256 << 30
# Memory that is reserved and read, but not written: all pages are the page of zeros, but each 2 MiB has
# a table.
place = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 15)
for at in range(0, size, 2 << 20): ctypes.c_char.from_address(place + at).value
time.sleep(1)
print("got 512 MiB of tables")
"""


def test_tables_of_pages(walled: Jobs) -> None:
    result = walled.run(PAGE_TABLES, limits=TIGHT)
    assert (result.ending, result.stdout.head) == (Ending.MEMORY_LIMIT, b"")


def test_every_child_of_a_process_with_many_is_seen() -> None:
    source = (
        "import os, signal, sys\nfor _ in range(1000):\n"
        " if os.fork() == 0: signal.pause()\nprint(flush=True)\nsignal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, start_new_session=True
    ) as many:
        assert many.stdout is not None
        many.stdout.readline()
        pids = processes.tree(many.pid)
        os.killpg(many.pid, signal.SIGKILL)
    assert len(pids) == 1001


def test_semaphores_and_messages_of_the_kernel(jobs: Jobs) -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
sets = next((count for count in range(200) if libc.semget(0, 32000, 0o600) < 0), 200)
print("semaphores:", os.strerror(ctypes.get_errno()), sets)
print("messages:", "got" if libc.msgget(0, 0o600) >= 0 else os.strerror(ctypes.get_errno()))
"""
    result = jobs.run(source, limits=TIGHT)
    if jobs.counted:
        assert result.ending is Ending.MEMORY_LIMIT or b"Cannot allocate memory" in result.stdout.head
    else:
        assert (
            result.stdout.head
            == b"semaphores: Operation not permitted 0\nmessages: Operation not permitted\n"
        )


def test_scratch_folders_are_bounded(jobs: Jobs) -> None:
    source = """
import os
for folder in ("/tmp", "/dev/shm", "/home/u"):
    written = 0
    try:
        with open(folder + "/x", "wb", buffering=0) as file:
            for _ in range(100): written += file.write(bytes(1 << 20))
    except OSError as error: print(folder, error.strerror, 30 < written >> 20 <= 32)
    os.unlink(folder + "/x")
"""
    assert jobs.output_of(source) == "".join(
        f"{name} No space left on device True\n" for name in ("/tmp", "/dev/shm", "/home/u")
    )


def test_many_empty_files_count_as_memory(jobs: Jobs) -> None:
    # A tmpfs limits bytes, not the number of files; these take hundreds of MiB of kernel memory.
    source = """
import os
for folder in range(400):
    os.mkdir(f"/tmp/{folder}")
    for number in range(1000): os.close(os.open(f"/tmp/{folder}/{number}", os.O_CREAT | os.O_WRONLY))
print("made them all")
"""
    result = jobs.run(source, limits=TIGHT)
    assert (result.ending, result.stdout.head) == (Ending.MEMORY_LIMIT, b"")


def test_flood_of_output(jobs: Jobs) -> None:
    limits = SMALL.model_copy(update={"stream_kill_bytes": 4 * MIB})
    for fd in (1, 2, 63):
        result = jobs.run(f"import os\nwhile True: os.write({fd}, b'x' * 65536)", limits=limits)
        assert result.ending is Ending.OUTPUT_LIMIT
        assert max(result.stdout.total_bytes, result.stderr.total_bytes, len(result.report)) < 32 * MIB
        assert len(result.stdout.head) + len(result.stdout.tail) <= limits.stream_bytes


def test_flood_at_the_very_end(jobs: Jobs) -> None:
    # As many bytes as fit into the pipe, written at once; the supervision reads them after the program's end.
    source = "import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); os.write(1, b'x' * (1 << 20)); os._exit(0)"
    result = jobs.run(source)
    assert (result.ending, result.stdout.total_bytes) == (Ending.EXITED, 1 << 20)


def test_hang_is_idle(jobs: Jobs) -> None:
    result = jobs.run("import time; print('on', flush=True); time.sleep(60)", limits=BRIEF)
    assert (result.ending, result.idle, result.exit_status, result.signal) == (
        Ending.WALL_LIMIT,
        True,
        None,
        None,
    )
    assert result.stdout.head == b"on\n"
    assert 1.4 < result.wall_seconds < 20.0


def test_spin_is_busy(jobs: Jobs) -> None:
    result = jobs.run("while True: pass", limits=BRIEF)
    assert (result.ending, result.idle) == (Ending.WALL_LIMIT, False)
    assert result.cpu_seconds > 0.1


def test_spin_of_a_child_is_busy_too(jobs: Jobs) -> None:
    source = "import os\nif os.fork() == 0:\n while True: pass\nos.wait()"
    assert jobs.run(source, limits=BRIEF).idle is False


def test_processor_time_of_many_children_is_no_offence(jobs: Jobs) -> None:
    source = "import os\nfor _ in range(20):\n if os.fork() == 0:\n  while True: pass\nwhile True: pass"
    assert jobs.run(source, limits=BRIEF).ending is Ending.WALL_LIMIT


STORM = """
import os, time
for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        while True: pass
while True: pass
"""
SHARE = """
import time
began, used = time.monotonic(), time.process_time()
while time.monotonic() < began + 2: pass
print(time.process_time() - used > 0.4)
"""


def test_a_storm_leaves_the_processor_to_the_job_beside_it(
    runners: Callable[[str], Runner], sandbox_home: Path
) -> None:
    """Only with cgroups; without them, each process counts by itself."""
    if (parents := cgroup.find().parents) is None or parents.cpu is None:
        pytest.skip("no share of the processor can be given here")
    storming, beside = (
        Jobs(runners("counted")),
        Jobs(Runner(level=Level.NAMESPACES_CGROUP, home=sandbox_home, slot=95)),
    )
    try:
        storming.runner.start(storming.job(STORM, limits=SMALL.model_copy(update={"wall_seconds": 5})))
        time.sleep(1)
        assert beside.output_of(SHARE) == "True\n"
        assert storming.runner.result().ending is Ending.WALL_LIMIT
    finally:
        beside.runner.close()


def test_what_a_job_does_to_stay(jobs: Jobs) -> None:
    stopped = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    deaf = """
import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
"""
    silent = "import os\nos.closerange(0, 3)\nwhile True: pass"
    for source in (stopped, deaf, silent):
        marker = uuid.uuid4().hex
        began = time.monotonic()
        result = jobs.run(source, marker, limits=BRIEF)
        assert (result.ending, time.monotonic() - began < 15.0) == (Ending.WALL_LIMIT, True)
        until_gone(marker)


def test_a_daemon_that_holds_the_output_open(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    source = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            os.write(1, b".")
            time.sleep(0.01)
    os._exit(0)
time.sleep(0.2)
os.write(1, b"main")
"""
    began = time.monotonic()
    result = jobs.run(source, marker)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert b"main" in result.stdout.head
    assert time.monotonic() - began < 15.0
    until_gone(marker)


def test_cancelling(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    began = time.monotonic()
    result = jobs.run("import time; print('on', flush=True); time.sleep(60)", marker, cancel_after=0.5)
    assert (result.ending, result.exit_status, result.stdout.head) == (Ending.CANCELLED, None, b"on\n")
    assert time.monotonic() - began < 15.0
    until_gone(marker)


def test_limits_cannot_be_raised(jobs: Jobs) -> None:
    source = """
import os, resource
for kind, value in ((resource.RLIMIT_NPROC, 10**6), (resource.RLIMIT_NOFILE, 10**5), (resource.RLIMIT_CORE,
    10**6)):
    try: resource.setrlimit(kind, (value, value)); print("raised")
    except ValueError: print("held")
for attempt in (lambda: os.setpriority(0, 0, -5), lambda: os.sched_setscheduler(0, 1, os.sched_param(1)),
                lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-900")):
    try: attempt(); print("raised")
    except OSError: print("held")
print(resource.getrlimit(resource.RLIMIT_AS) == (-1, -1),
    resource.getrlimit(resource.RLIMIT_CPU)[0] >= 20 * len(os.sched_getaffinity(0)))
"""
    assert jobs.output_of(source).splitlines() == ["held"] * 6 + ["True True"]
