"""The catalogue of attacks from a warm start, on each kind of slot."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_runner import SECRET, WarmRunner, arguments, make_warm_runner

# The same file as for cold starts.
PROBE = Path(__file__).parents[1] / "sandbox" / "attack_probe.py"
# Every warm job has the harness, whose report channel has this descriptor.
AS_WITHOUT_HARNESS = "import os; os.dup2(900, 63); os.close(900)\n"
KINDS = ["counted", "polled", "once", *(["plain"] if os.geteuid() == 0 else [])]


@pytest.fixture(scope="module", params=KINDS)
def runner(request: pytest.FixtureRequest, toolchains: Path, toolchain: str) -> Iterator[WarmRunner]:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        runner = make_warm_runner(request.param, home=Path(home), toolchain=toolchains / toolchain)
        yield runner
        runner.close()


@pytest.fixture(scope="module")
def bait() -> Iterator[list[str]]:
    """Targets on the host: a secret file, a service on loopback and two unix sockets.

    The cold suite has the control.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        secret = Path(folder, "database")
        secret.write_text("row")
        secret.chmod(0o644)
        abstract, pathname, tcp = (
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
            socket.create_server(("127.0.0.1", 0)),
        )
        abstract.bind(f"\0{Path(folder).name}")
        pathname.bind(f"{folder}/socket")
        Path(folder, "socket").chmod(0o777)
        for server in (abstract, pathname):
            server.listen(16)
        yield [Path(folder).name, f"{folder}/socket", str(secret), str(tcp.getsockname()[1]), "0"]
        for server in (abstract, pathname, tcp):
            server.close()


def test_nothing_gets_out_and_what_torch_needs_works(runner: WarmRunner, bait: list[str]) -> None:
    tried = dict(
        json.loads(line)
        for line in runner.output_of(arguments(*bait) + AS_WITHOUT_HARNESS + PROBE.read_text()).splitlines()
    )
    assert {
        name for name, outcome in tried.items() if outcome == "OPEN" and not name.startswith("works: ")
    } == set()
    assert {
        name for name, outcome in tried.items() if outcome != "OPEN" and name.startswith("works: ")
    } == set()
    assert len(tried) > 50
    for name in ("bpf", "acct", "kernel log", "add_key", "personality", "name_to_handle_at"):
        assert tried[name] == "EPERM", name


LEAKS = """
import errno, os, sys
secret = sys.argv[1].encode()[::-1]
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "mem", "maps", "root", "cwd", "exe", "fd"):
        try:
            if name in ("root", "cwd", "fd"): os.listdir(f"/proc/{pid}/{name}"); data = b""
            elif name == "mem": os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)); data = b""
            else: data = open(f"/proc/{pid}/{name}", "rb").read(4096)
        except OSError as error:
            if pid == "1": print(pid, name, errno.errorcode[error.errno])
            continue
        if pid == "1" or secret in data: print(pid, name, secret in data)
fds = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 3]
print([os.readlink("/proc/self/fd/" + fd).split(":")[0] for fd in fds])
print(any(secret in open(path, "rb").read() for path in ("/proc/self/mountinfo", "/proc/self/environ",
    "/proc/self/maps")))
"""


def test_pid_1_is_closed_and_nothing_of_the_node_is_inherited(runner: WarmRunner) -> None:
    output = runner.output_of(arguments(SECRET[::-1]) + LEAKS).splitlines()
    closed = [f"1 {name} EACCES" for name in ("environ", "mem", "maps", "root", "cwd", "exe", "fd")]
    assert sorted(output[:-2]) == sorted([*closed, "1 cmdline False"])
    assert output[-2:] == ["['pipe']", "False"]


DEFILE = """
import builtins, fcntl, os, sys, torch, json, random
torch.set_default_dtype(torch.float64); torch.ones = None; builtins.print2 = 1; json.dumps = None
os.environ["X_LEFT"] = "1"
sys.path.append("/left"); torch.set_num_threads(1); sys.modules["left"] = sys
for folder in ("/tmp", "/dev/shm", "/home/u"): open(folder + "/left", "w").write("x")
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK); fcntl.flock(0, fcntl.LOCK_EX)
leave = os.fork()
if leave == 0:
    os.setsid()
    while True: open("/tmp/alive", "w").write("x")
os._exit(0)
"""
LOOK = """
import builtins, os, sys, torch, json
print(json.dumps([str(torch.get_default_dtype()), torch.ones(1).item(), hasattr(builtins, "print2"),
    "X_LEFT" in os.environ,
    "/left" in sys.path, "left" in sys.modules, torch.get_num_threads() == len(os.sched_getaffinity(0)),
    sum(name.isdigit() for name in os.listdir("/proc")),
    [os.path.exists(folder + "/left") for folder in ("/tmp", "/dev/shm", "/home/u")],
    os.get_blocking(0), "lock:" in open("/proc/self/fdinfo/0").read()]))
"""


def test_the_next_job_finds_nothing_of_one_before(runner: WarmRunner) -> None:
    assert runner.run(DEFILE).exit_status == 0
    expected = ["torch.float32", 1.0, False, False, False, False, True, 2, [False] * 3, True, False]
    assert json.loads(runner.output_of(LOOK)) == expected


def test_killing_all_that_it_sees_spares_pid_1_and_the_next_job(runner: WarmRunner) -> None:
    script = """
import os, signal, sys, time
child = os.fork() or time.sleep(60)
os.kill(-1, signal.SIGKILL)
for number in range(1, 65): os.kill(1, number)
time.sleep(0.2)
for pid in range(1, 300):
    if pid not in (1, os.getpid()):
        try: os.kill(pid, 9)
        except OSError: pass
print(os.waitpid(child, 0)[1])
"""
    before = runner.ask("zygotes")
    assert runner.output_of(script) == "9\n"
    if len(before) and runner.ask("zygotes") != before:  # type: ignore[arg-type]
        # An interpreter for a single job has been replaced by now; others have not.
        assert runner.output_of("print(1)") == "1\n"
    assert runner.output_of("import torch; print(torch.ones(1).item())") == "1.0\n"


OUR_FOLDER = """
import os
try:
    os.chmod("/run/samehere", 0o755)
    for number in range(10):
        with open("/run/samehere/x%d" % number, "wb") as file:
            for _ in range(20): file.write(bytes(1 << 20))
except OSError: pass
print(sum(os.stat("/run/samehere/" + name).st_size for name in os.listdir("/run/samehere")) >> 20 <= 16)
"""


def test_the_folder_of_ours_holds_little_whatever_its_mode(runner: WarmRunner) -> None:
    assert runner.output_of(OUR_FOLDER) == "True\n"


def test_the_kernel_would_kill_a_job_before_the_node(runner: WarmRunner) -> None:
    assert runner.output_of("print(open('/proc/self/oom_score_adj').read())") == "600\n\n"
