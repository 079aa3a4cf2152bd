"""The backend without namespaces: restrictions by version, ends and limits; it leaves nothing behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, Jobs, fields, marked, python_job, until_gone, until_marked
from sandbox_runner import AS_ROOT, PLAIN_UID, ROOT, Runner, make_runner

from worker.contract import KIB, MIB, Level
from worker.sandbox import Bind, Ending, Sandbox, SandboxJob, SandboxUnavailableError
from worker.sandbox.isolation import landlock
from worker.sandbox.isolation.bubblewrap import Identity

BRIEF = SMALL.model_copy(update={"wall_seconds": 1.5})


# The restrictions of each version.


@pytest.mark.parametrize(
    ("abi", "rights", "length"),
    [(1, 13, 8), (2, 14, 8), (3, 15, 8), (4, 15, 16), (5, 16, 16), (6, 16, 24), (7, 16, 24)],
)
def test_the_attributes_of_each_version(abi: int, rights: int, length: int) -> None:
    assert landlock.rights_of(abi) == (1 << rights) - 1
    assert len(landlock.attributes_of(abi)) == length


def test_a_shared_uid_needs_the_version_that_scopes_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "find_abi", lambda: 5)
    assert landlock.require(Identity(47001)) == 5
    with pytest.raises(SandboxUnavailableError, match=r"Linux 6\.12"):
        landlock.require(Identity(None))


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSYS, "5.13"), (errno.EOPNOTSUPP, "lsm="), (errno.EPERM, "filter")]
)
def test_why_there_is_none(number: int, words: str) -> None:
    source = f"""
import ctypes
from worker.sandbox import SandboxUnavailableError
from worker.sandbox.isolation import landlock
ctypes.get_errno = lambda: {number}
class Nothing:
    def __init__(self, *_, **__): self.syscall = type("Call", (), {{"__call__": lambda *_: -1}})()
ctypes.CDLL = Nothing
try: landlock.find_abi()
except SandboxUnavailableError as error: print(error)
"""
    assert words in subprocess.check_output([sys.executable, "-c", source], cwd=ROOT, text=True)


def test_the_node_says_what_it_is(landlocked: Jobs) -> None:
    result = landlocked.run("print(1)")
    assert (result.level, result.stdout.head) == (Level.LANDLOCK, b"1\n")
    assert landlocked.runner.ask("self_test") == []


@pytest.mark.parametrize("level", [Level.NAMESPACES, Level.NAMESPACES_CGROUP])
def test_it_satisfies_no_stronger_level(level: Level) -> None:
    assert not Level.LANDLOCK.satisfies(level)


# Ends.


def test_how_it_ends(landlocked: Jobs) -> None:
    assert landlocked.run("raise SystemExit(3)").exit_status == 3
    assert landlocked.run("import os; os._exit(139)").exit_status == 139
    assert landlocked.run("import ctypes; ctypes.string_at(0)").signal == signal.SIGSEGV
    assert (
        landlocked.run("import os, signal; os.kill(-1, signal.SIGKILL); print('on')").stdout.head == b"on\n"
    )
    missing_program = landlocked.runner.run(SandboxJob(argv=("/usr/bin/not-there",), limits=SMALL))
    assert (missing_program.ending, missing_program.detail) == (
        Ending.SETUP_FAILED,
        "the program could not be started: No such file or directory",
    )


def test_what_it_sees(landlocked: Jobs) -> None:
    source = (
        "import os; print(sorted(os.environ)); "
        "print(os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'], __file__)"
    )
    first, second = landlocked.output_of(source), landlocked.output_of(source)
    # The folder is the same for all jobs of a slot, so that paths in outputs are equal.
    assert first == second
    names, paths = first.splitlines()
    assert names == "['HOME', 'LANG', 'LOGNAME', 'PATH', 'TMPDIR', 'USER']"
    folder, home, temporary, script = paths.split()
    assert (folder, script) == (home, home + "/script.py")
    assert (
        Path(home).parts[:3]
        == Path(temporary).parts[:3]
        == ("/", *Path(tempfile.gettempdir()).parts[1:], Path(home).parts[2])
    )


def test_a_program_that_would_be_shown_elsewhere_runs_where_it_is(landlocked: Jobs) -> None:
    binds = (Bind("/usr/bin", "/opt/samehere/bin"),)
    job = SandboxJob(argv=("/opt/samehere/bin/env",), binds=binds, limits=SMALL)
    result = landlocked.runner.run(job)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert b"PATH=/usr/bin:" in result.stdout.head


def test_a_bind_is_read_and_not_written(landlocked: Jobs) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        Path(folder, "file").write_text("seen")
        job = landlocked.job(
            (
                f"print(open('{folder}/file').read())\ntry: open('{folder}/x', 'w')\n"
                f"except PermissionError: print('held')"
            ),
        )
        granted = SandboxJob(argv=job.argv, files=job.files, limits=job.limits, binds=(Bind(folder, folder),))
        assert landlocked.runner.run(granted).stdout.head == b"seen\nheld\n"
        assert (
            landlocked.run(f"open('{folder}/file')")
            .stderr.head.rstrip()
            .endswith(f"'{folder}/file'".encode())
        )


# Limits.


def test_memory_time_and_output(landlocked: Jobs) -> None:
    tight = SMALL.model_copy(update={"memory_bytes": 128 * MIB})
    assert (
        landlocked.run("x = [b'x' * (1 << 20) for _ in range(600)]; print('got')", limits=tight).ending
        is Ending.MEMORY_LIMIT
    )
    spinning = landlocked.run("while True: pass", limits=BRIEF)
    assert (spinning.ending, spinning.idle) == (Ending.WALL_LIMIT, False)
    short = SMALL.model_copy(update={"stream_kill_bytes": 64 * KIB})
    assert landlocked.run("while True: print('x' * 4096)", limits=short).ending is Ending.OUTPUT_LIMIT
    assert landlocked.run("import time; time.sleep(60)", cancel_after=0.3).ending is Ending.CANCELLED


def test_the_scratch_folder_is_watched(landlocked: Jobs) -> None:
    source = """
import os, tempfile, time
for number in range(64):
    with open(os.path.join(tempfile.gettempdir(), str(number)), "wb") as file: file.write(os.urandom(1 << 20))
    time.sleep(0.05)
print("wrote 64 MiB")
"""
    result = landlocked.run(source)
    assert (result.ending, result.stdout.head) == (Ending.MEMORY_LIMIT, b"")
    assert "scratch folder" in result.detail


UNSEEN = """
import os, tempfile, time
os.chdir(tempfile.gettempdir())
{into}
with open("x", "wb") as file:
    for _ in range(100): file.write(bytes(range(256)) * 4096)
time.sleep(2)
print("kept 100 MiB")
"""
DEEP = 'for _ in range(2200):\n os.mkdir("d")\n os.chdir("d")'
BLIND = 'os.mkdir("d", 0o300)\nos.chdir("d")'


@pytest.mark.parametrize(
    "into", [DEEP, BLIND], ids=["deeper than a path is long", "a folder that nobody may list"]
)
def test_what_cannot_be_counted_is_too_much(landlocked: Jobs, into: str) -> None:
    result = landlocked.run(UNSEEN.format(into=into))
    assert (result.ending, result.stdout.head) == (Ending.MEMORY_LIMIT, b"")
    # It also must not stay, or the slot would be blocked for ever.
    assert landlocked.output_of("print(1)") == "1\n"
    assert not landlocked.runner.folder.exists()


def test_shared_memory_of_the_machine_is_watched(landlocked: Jobs) -> None:
    source = """
import os, time
names = ["/dev/shm/samehere-test-%d-%d" % (os.getpid(), number) for number in range(10)]
def write(name):
    with open(name, "wb") as file:
        for _ in range(30): file.write(bytes(1 << 20))
if os.fork() == 0:
    for name in names: write(name)
    time.sleep(1)
    print("kept 300 MiB")
else: os.wait()
"""
    result = landlocked.run(source, limits=SMALL.model_copy(update={"memory_bytes": 128 * MIB}))
    for left in Path("/dev/shm").glob("samehere-test-*"):
        left.unlink()
    assert (result.ending, result.stdout.head) == (Ending.MEMORY_LIMIT, b"")


# Leftovers.


PROGRAMS = (
    "print('fine')",
    "import os; os.abort()",
    "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: time.sleep(60)\nos._exit(0)",
    "import time; time.sleep(60)",
    "import os\nwhile True: os.write(1, b'x' * 65536)",
    "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); time.sleep(60)",
)
SHORT = SMALL.model_copy(update={"wall_seconds": 0.4, "stream_kill_bytes": 1 << 20})


def test_many_jobs_leave_nothing(landlocked: Jobs) -> None:
    marker = uuid.uuid4().hex
    landlocked.run(PROGRAMS[0], marker)
    before = _count_resources(landlocked.runner)
    for program in PROGRAMS * 4:
        result = landlocked.run(program, marker, limits=SHORT)
        assert result.ending in (Ending.EXITED, Ending.WALL_LIMIT, Ending.OUTPUT_LIMIT)
    until_gone(marker)
    assert _count_resources(landlocked.runner) == before
    assert _children(landlocked.runner.process.pid) == []


def _count_resources(runner: Runner) -> tuple[object, str, list[str]]:
    """The numbers of descriptors, mounts and job folders."""
    folders = sorted(path.name for path in runner.folder.parent.glob(runner.folder.name + "*"))
    return runner.ask("descriptors"), Path(f"/proc/{runner.process.pid}/mountinfo").read_text(), folders


def _children(parent: int) -> list[int]:
    """The uid's processes, zombies too."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(fields(int(folder.name))["PPid"]) == parent:
                pids.append(int(folder.name))
        except (OSError, KeyError):
            continue
    return pids


def test_a_storm_of_forks_is_killed_whole(landlocked: Jobs) -> None:
    marker = uuid.uuid4().hex
    source = """
import os, signal, time
for number in (1, 2, 15, 17): signal.signal(number, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(0.01)
"""
    assert landlocked.run(source, marker, limits=BRIEF).ending is Ending.WALL_LIMIT
    until_gone(marker)


def test_orphans_of_a_job_whose_pid_1_was_killed(landlocked: Jobs) -> None:
    marker = uuid.uuid4().hex
    source = (
        "import os, time\nfor _ in range(3): os.fork()\n"
        "os.setsid() if os.getpid() != os.getsid(0) else None\ntime.sleep(60)"
    )
    landlocked.runner.start(landlocked.job(source, marker))
    program = until_marked(marker, count=8)
    supervision = [int(fields(pid)["PPid"]) for pid in program if int(fields(pid)["PPid"]) not in program]
    os.kill(supervision[0], signal.SIGKILL)
    assert landlocked.runner.result().ending is Ending.SETUP_FAILED
    until_gone(marker)
    assert _children(landlocked.runner.process.pid) == []


@pytest.mark.skipif(not AS_ROOT, reason="only a uid of the slot's own says whose a file is")
def test_files_in_the_machines_shared_memory_go(runners: Callable[[str], Runner]) -> None:
    jobs = Jobs(runners("landlock"))
    assert jobs.output_of("open('/dev/shm/samehere-left', 'w').write('x'); print('left')") == "left\n"
    assert not Path("/dev/shm/samehere-left").exists()


@pytest.mark.skipif(not AS_ROOT, reason="only a uid of the slot's own is swept")
def test_files_that_others_remove_meanwhile(runners: Callable[[str], Runner]) -> None:
    going = threading.Event()

    def come_and_go() -> None:
        names = [Path(f"/dev/shm/samehere-others-{os.getpid()}-{number}") for number in range(200)]
        while not going.is_set():
            for name in names:
                name.touch()
            for name in names:
                name.unlink()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        jobs = Jobs(runners("landlock"))
        assert [jobs.output_of("print(1)") for _ in range(10)] == ["1\n"] * 10
    finally:
        going.set()
        other.join()


@pytest.mark.parametrize("kind", ["landlock", "landlock-plain"] if AS_ROOT else ["landlock-plain"])
def test_killing_the_node_leaves_nothing(kind: str, sandbox_home: Path) -> None:
    marker = uuid.uuid4().hex
    runner = make_runner(kind, sandbox_home)
    source = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
os.fork()
time.sleep(60)
"""
    runner.start(python_job(source, marker, uid=runner.uid, system=True))
    until_marked(marker, count=4)
    runner.process.kill()
    until_gone(marker)
    runner.process.wait()
    runner.close()
    assert marked(marker) == []
    # The slot's next job removes its folder.
    assert runner.folder.exists()
    successor = Runner(level=Level.LANDLOCK, home=sandbox_home, uid=runner.uid, slot=runner.slot)
    assert not runner.folder.exists()
    successor.close()


def test_a_folder_of_someone_else_is_not_used(sandbox_home: Path) -> None:
    if not AS_ROOT:
        pytest.skip("only root makes another user's folder")
    sandbox = Sandbox(slot=990, home=sandbox_home, level=Level.LANDLOCK)
    assert isinstance(sandbox._backend, landlock.LandlockBackend)
    folder = sandbox._backend._folder
    folder.mkdir()
    os.chown(folder, PLAIN_UID, PLAIN_UID)
    try:
        result = sandbox.run(SandboxJob(argv=("/bin/true",), limits=SMALL), cancelled=threading.Event())
        assert (result.ending, "belongs to another user" in result.detail) == (Ending.SETUP_FAILED, True)
    finally:
        folder.rmdir()


def test_a_folder_that_stays_is_told(sandbox_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Sandbox(slot=991, home=sandbox_home, level=Level.LANDLOCK)
    assert isinstance(sandbox._backend, landlock.LandlockBackend)
    folder = sandbox._backend._folder
    folder.mkdir()
    monkeypatch.setattr(landlock, "remove_tree", lambda _: None)
    result = sandbox.run(SandboxJob(argv=("/bin/true",), limits=SMALL), cancelled=threading.Event())
    folder.rmdir()
    assert (result.ending, "can't be removed" in result.detail) == (Ending.SETUP_FAILED, True)
