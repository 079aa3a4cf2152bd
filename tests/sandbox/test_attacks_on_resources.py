"""Resources are limited on every backend, and not outside, in the control.

Every attack also limits itself.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import uuid
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, SYSTEM_PYTHON, Jobs, until_gone
from sandbox_runner import AS_ROOT, PLAIN_UID

from worker.contract import MIB, Level
from worker.sandbox import Ending, Sandbox, SandboxJob
from worker.sandbox.resources import cgroup
from worker.sandbox.resources.limits import process_limit

TIGHT = SMALL.model_copy(update={"memory_bytes": 256 * MIB, "wall_seconds": 20.0})

FORKS = f"""
import os, time
count, most = 0, {process_limit(SMALL)}
try:
    while count < most + 40:
        if os.fork() == 0:
            time.sleep(4)
            os._exit(0)
        count += 1
except OSError: pass
print(count > most)
"""
THREADS = f"""
import os, threading, time
count, most = 0, {process_limit(SMALL)}
try:
    while count < most + 40:
        threading.Thread(target=time.sleep, args=(4,), daemon=True).start()
        count += 1
except RuntimeError: pass
print(count > most, flush=True)
os._exit(0)
"""
SPARSE = """
import os, signal, tempfile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open(os.path.join(tempfile.gettempdir(), "x"), "wb") as file: file.truncate(1 << 40)
    print(True)
except OSError: print(False)
"""
LIMITS = """
import resource
print(resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 1024)
"""
# Each program tries to take a resource that a job may not have, and prints True if it could.
ATTACKS = {"forks": FORKS, "threads": THREADS, "sparse file": SPARSE, "open files": LIMITS}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_bounded(walled: Jobs, name: str) -> None:
    assert walled.output_of(ATTACKS[name]) == "False\n"


@pytest.mark.skipif(not AS_ROOT, reason="root lifts the limits of its own session")
@pytest.mark.parametrize("name", ATTACKS)
def test_outside_it_is_not(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        lifted = ["prlimit", "--nofile=4096", "--nproc=4096", "--fsize=unlimited"]
        dropped = ["setpriv", f"--reuid={PLAIN_UID}", f"--regid={PLAIN_UID}", "--clear-groups"]
        process = subprocess.run(
            [*lifted, *dropped, SYSTEM_PYTHON, "-c", ATTACKS[name]],
            env={"TMPDIR": folder},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert process.stdout == "True\n"


PIPES = """
import fcntl, os
total, kept = 0, []
try:
    for _ in range(400):
        reading, writing = os.pipe()
        kept += [reading, writing]
        try: fcntl.fcntl(writing, 1031, 1 << 20)
        except OSError: pass
        os.set_blocking(writing, False)
        try:
            while True: total += os.write(writing, bytes(1 << 16))
        except BlockingIOError: pass
except OSError: pass
print(total >> 20)
"""


def test_pipes_are_bounded_by_the_kernel_for_each_uid(walled: Jobs) -> None:
    # An unprivileged uid gets 16 384 pages for larger pipes; after that, each pipe has a page or two.
    assert int(walled.output_of(PIPES)) <= 80


SOCKETS = """
import socket
total, kept = 0, []
try:
    for _ in range(480):
        one, other = socket.socketpair()
        kept += [one, other]
        one.setsockopt(1, 7, 1 << 30)
        one.setblocking(False)
        try:
            while total < 600 << 20: total += one.send(bytes(1 << 15))
        except BlockingIOError: pass
except OSError: pass
print(total >> 20)
"""


def test_buffers_of_sockets_are_bounded_only_by_a_cgroup(walled: Jobs) -> None:
    """A documented gap: without a cgroup, only the floor for the machine's memory stops it."""
    result = walled.run(SOCKETS, limits=TIGHT)
    if result.ending is Ending.EXITED and int(result.stdout.head) < 256:
        pytest.skip("the kernel's own limits on sockets are low here")
    # Without namespaces, too, memory is counted where the user may make cgroups. A plain user may not.
    counted = walled.level is Level.NAMESPACES_CGROUP or (
        walled.level is Level.LANDLOCK and walled.runner.uid is None and cgroup.find().parents is not None
    )
    assert result.ending is (Ending.MEMORY_LIMIT if counted else Ending.EXITED)


DEEP = """
import os, tempfile
os.chdir(tempfile.gettempdir())
try:
    for _ in range(4000):
        os.mkdir("d")
        os.chdir("d")
    open("file", "w").write("x")
except OSError: pass
print("made")
"""


def test_a_deep_folder_leaves_nothing(walled: Jobs) -> None:
    if walled.level is not Level.LANDLOCK:
        assert walled.output_of(DEEP) == "made\n"
        return
    # Deeper than a path may be long: polling ends the job, if it sees that in time.
    assert walled.run(DEEP).ending in (Ending.EXITED, Ending.MEMORY_LIMIT)
    assert not walled.runner.folder.exists()


def test_one_endless_line(walled: Jobs) -> None:
    result = walled.run("import os\nfor _ in range(320): os.write(1, b'x' * 65536)")
    assert (result.ending, result.stdout.total_bytes, result.stdout.truncated) == (
        Ending.EXITED,
        320 * 65536,
        True,
    )
    assert len(result.stdout.head) + len(result.stdout.tail) == SMALL.stream_bytes


def test_bytes_for_a_terminal_and_the_text_of_an_exit_are_kept(walled: Jobs) -> None:
    result = walled.run(
        "import sys; sys.stdout.buffer.write(b'\\x1b[31m\\xff\\x00'); raise SystemExit('why')"
    )
    assert (result.stdout.head, result.stderr.head, result.exit_status) == (b"\x1b[31m\xff\x00", b"why\n", 1)


def test_a_job_ends_with_the_thread_that_started_it(sandbox_home: Path) -> None:
    marker = uuid.uuid4().hex
    sandbox = Sandbox(slot=98, home=sandbox_home, level=Level.NAMESPACES)
    job = SandboxJob(argv=("/bin/sh", "-c", f"sleep 60 # {marker}"), limits=SMALL)
    # The control: the object lives as long as its thread.
    ours = sandbox._backend.start(job)
    assert ours.process.poll() is None
    theirs = []
    running = threading.Thread(target=lambda: theirs.append(sandbox._backend.start(job)))
    running.start()
    running.join()
    assert theirs[0].process.wait(10) != 0
    assert ours.process.poll() is None
    ours.process.kill()
    ours.process.wait()
    for each in (ours, theirs[0]):
        each.close()
    until_gone(marker)
