"""`samehere serve` as an operator meets it: it starts, repairs itself, refuses what is unsafe and ends
cleanly.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from running_service import Service, free_port, is_ready, service_environment, start_service, stop_service

from app.embedded.postgres import EmbeddedPostgres
from app.errors import SetupError
from app.serve.child_process import FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, Backoff, Child
from app.serve.exposure import is_loopback, require_isolation
from app.settings import SERVICE_UID, ServiceSettings
from worker.contract import Level

pytestmark = pytest.mark.service


def processes(home: Path) -> dict[int, str]:
    """Everything that belongs to a home: by its environment, or by what it holds open."""
    found = {}
    for process in psutil.process_iter():
        try:
            argv = process.cmdline()
            if (
                process.environ().get("SAMEHERE_HOME") == str(home)
                or any(str(home) in word for word in argv)
                or str(home) in process.cwd()
            ):
                found[process.pid] = " ".join(argv)
        except psutil.Error:
            continue
    found.pop(os.getpid(), None)
    return found


def eventually(condition: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def find(home: Path, words: str) -> int:
    return next(pid for pid, command in processes(home).items() if words in command)


@pytest.fixture(scope="module")
def own_service(session_home: Path) -> Iterator[Service]:
    """A service without a node. A test may kill a part of it, and waits until it is ready again."""
    home = session_home / "supervisor"
    home.mkdir()
    home.chmod(0o711)
    service = start_service(home, "--no-node")
    yield service
    stop_service(service)


def run_serve(home: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "app.serve", *options],
        env={**service_environment(home), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def verdicts_of_canaries(home: Path) -> list[str]:
    url = EmbeddedPostgres(home).attach()
    assert url is not None
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT verdict FROM run WHERE occasion = 'canary' AND state = 'finished'")
        return [row[0] for row in rows]


def test_a_canary_passes_and_sigterm_ends_everything_in_order(home: Path) -> None:
    service = start_service(
        home, environment={"SAMEHERE_CANARY_SECONDS": "60", "SAMEHERE_RERUN_SECONDS": "0.5"}
    )
    assert eventually(lambda: verdicts_of_canaries(home) == ["reproduced"], seconds=60)
    assert is_ready(service.url)
    names = " ".join(processes(home).values())
    assert all(
        words in names
        for words in (
            "app.serve.web",
            "app.tasks worker",
            "app.tasks beat",
            "worker node",
            "postgres",
            "valkey-server",
        )
    )
    assert stop_service(service) == 0
    assert processes(home) == {}
    assert f"samehere is ready on {service.url}" in service.log.read_text()
    assert "database system is shut down" in (home / "postgres" / "postgres.log").read_text()


def test_supervisor_and_beat_take_little_memory(own_service: Service) -> None:
    """Proportional set size, in bytes. It was 154 MiB."""
    pids = [own_service.process.pid, find(own_service.home, "app.tasks beat")]
    assert sum(psutil.Process(pid).memory_full_info().pss for pid in pids) <= 77 * 1024 * 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a uid to drop")
def test_what_reads_strangers_text_is_not_root(own_service: Service) -> None:
    for words in ("app.serve.web", "app.tasks worker", "app.tasks beat", "bin/postgres", "valkey-server"):
        uids = psutil.Process(find(own_service.home, words)).uids()
        assert {uids.real, uids.effective, uids.saved} == {SERVICE_UID}, words


@pytest.mark.parametrize(
    "words", ["app.serve.web", "app.tasks worker", "app.tasks beat", "bin/postgres", "valkey-server"]
)
def test_what_is_killed_starts_again(own_service: Service, words: str) -> None:
    pid = find(own_service.home, words)
    os.kill(pid, signal.SIGKILL)
    assert eventually(
        lambda: any(
            words in command for other, command in processes(own_service.home).items() if other != pid
        ),
        seconds=20,
    )
    assert eventually(lambda: is_ready(own_service.url), seconds=60)
    assert own_service.process.poll() is None


@pytest.mark.parametrize("level", ["landlock+seccomp", "limits-only"])
def test_strangers_code_without_namespaces_is_refused_beside_the_embedded_servers(
    home: Path, level: str
) -> None:
    done = run_serve(home, "--port", str(free_port()), SAMEHERE_REQUIRED_LEVEL=level)
    assert done.returncode == 2
    assert "could reach the embedded servers" in done.stderr
    assert processes(home) == {}
    with pytest.raises(SetupError):
        require_isolation(ServiceSettings(required_level=Level(level), database_url="postgresql://h/x"))
    # Servers of one's own on other machines: the operator may accept it.
    require_isolation(
        ServiceSettings(required_level=Level(level), database_url="postgresql://h/x", broker_url="redis://h")
    )
    require_isolation(ServiceSettings())


def test_a_second_one_on_the_same_home_is_refused(own_service: Service) -> None:
    done = run_serve(own_service.home, "--port", str(free_port()))
    assert done.returncode == 2
    assert "another samehere" in done.stderr
    assert is_ready(own_service.url)


def test_a_taken_port_is_named(home: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        done = run_serve(home, "--port", str(port))
    assert done.returncode == 2
    assert (
        done.stderr == f"samehere serve: port {port} of 127.0.0.1 is in use: choose another one with --port\n"
    )
    assert processes(home) == {}


def test_an_open_address_is_refused_without_a_token(home: Path) -> None:
    done = run_serve(home, "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert done.returncode == 2
    assert "no token exists" in done.stderr
    assert processes(home) == {}


@pytest.mark.parametrize(
    ("variables", "status", "words"),
    [
        # The server may come later, so systemd tries again after status 1, and not after status 2.
        ({"SAMEHERE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, 1, "can't reach the database"),
        ({"SAMEHERE_BROKER_URL": "redis://127.0.0.1:1/0"}, 1, "can't reach the broker"),
        ({"SAMEHERE_LEASE_SECONDS": "-1"}, 2, "SAMEHERE_LEASE_SECONDS"),
        ({"SAMEHERE_SLOTS": "0"}, 2, "SAMEHERE_SLOTS"),
    ],
)
def test_what_stops_the_start_is_named(
    home: Path, variables: dict[str, str], status: int, words: str
) -> None:
    done = run_serve(home, "--port", "0", **variables)
    assert done.returncode == status
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("example.org", False),
    ],
)
def test_loopback(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_waits_grow_up_to_a_bound_and_forget() -> None:
    backoff = Backoff()
    waits = [backoff.note_end(0.0, ran_seconds=1.0) for _ in range(12)]
    assert waits[:3] == [FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2, FIRST_WAIT_SECONDS * 4]
    assert waits[-1] == LONGEST_WAIT_SECONDS
    assert backoff.note_end(0.0, ran_seconds=3600.0) == FIRST_WAIT_SECONDS


def test_an_endless_line_is_cut() -> None:
    child = Child("x", ["nothing"], environment={}, grace_seconds=1.0)
    assert child.lines(b"a\nb") == ["a"]
    assert child.lines(b"c\n\n\xff\n") == ["bc", "\N{REPLACEMENT CHARACTER}"]
    assert [len(line) for line in child.lines(b"x" * 70_000)] == [70_000]
    assert child.lines(b"y\n") == ["y"]
