"""What the tests stand on: real servers, a real toolchain and a whole service, each in a temporary folder and ended by pid."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import NullPool, create_engine
from sqlalchemy.orm import Session

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.valkey import EmbeddedValkey
from app.settings import default_home

TEMPLATE = "samehere_template"
SHARED_TOOLCHAINS = Path(os.environ.get("SAMEHERE_TOOLCHAINS") or Path(os.environ.get("SAMEHERE_HOME") or default_home()) / "toolchains")
READY_SECONDS = 90.0


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever started the tests."""
    for name in [name for name in os.environ if name.startswith("SAMEHERE_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def session_home() -> Iterator[Path]:
    """A folder for the servers of this test session; short, and one that the servers' own uid may enter."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-tests-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A fresh SAMEHERE_HOME for one test."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(session_home: Path) -> Iterator[EmbeddedPostgres]:
    """The Postgres of this test session, with a migrated template database; it does not wait for the disk."""
    from app.storage.migrate import upgrade

    server = EmbeddedPostgres(session_home)
    server.start()
    with psycopg.connect(server.admin_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    template = _create_database(server, TEMPLATE, template=None)
    upgrade(template)
    yield server
    server.stop()


def _create_database(server: EmbeddedPostgres, name: str, *, template: str | None) -> str:
    statement = sql.SQL("CREATE DATABASE {} OWNER samehere TEMPLATE {} STRATEGY file_copy")
    with psycopg.connect(server.admin_url, autocommit=True) as connection:
        connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template or "template0")))
    return server.url.replace("/samehere?", f"/{name}?")


def _drop_database(server: EmbeddedPostgres, name: str) -> None:
    with psycopg.connect(server.admin_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_url(postgres: EmbeddedPostgres) -> str:
    """A migrated database for the whole session: for tests that roll back what they did (`session`)."""
    return _create_database(postgres, "shared", template=TEMPLATE)


@pytest.fixture
def session(postgres_url: str) -> Iterator[Session]:
    """A session whose every commit is undone when the test ends."""
    engine = create_engine(postgres_url, poolclass=NullPool)
    with engine.connect() as connection:
        outer = connection.begin()
        with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
            yield session
        outer.rollback()


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A fresh migrated database of one test's own, for tests with several connections."""
    name = f"test_{uuid.uuid4().hex}"
    yield _create_database(postgres, name, template=TEMPLATE)
    _drop_database(postgres, name)


@pytest.fixture
def empty_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A fresh database without a schema."""
    name = f"empty_{uuid.uuid4().hex}"
    yield _create_database(postgres, name, template=None)
    _drop_database(postgres, name)


@pytest.fixture(scope="session")
def broker_server(session_home: Path) -> Iterator[EmbeddedValkey]:
    """The Valkey of this test session."""
    server = EmbeddedValkey(session_home)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def broker_url(broker_server: EmbeddedValkey) -> str:
    """An empty broker."""
    import redis

    path = broker_server.url.removeprefix("redis+socket://")
    with redis.Redis(unix_socket_path=path) as connection:
        connection.flushall()
    return broker_server.url


@pytest.fixture(scope="session")
def toolchains() -> Path:
    """The folder of the toolchains that `make toolchain` built."""
    return SHARED_TOOLCHAINS


@pytest.fixture(scope="session")
def toolchain(toolchains: Path) -> str:
    """The name of a toolchain with torch."""
    names = sorted(path.name for path in toolchains.glob("torch-*") if not path.name.endswith((".new", ".failed")))
    if not names:
        reason = f"no toolchain with torch in {toolchains}: build one with `make toolchain`"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return names[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running `samehere serve`."""

    url: str
    home: Path
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a `samehere` command talk about this service's home."""
        return service_environment(self.home)


def service_environment(home: Path) -> dict[str, str]:
    """An environment for `samehere` commands: own home, shared toolchains."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SAMEHERE_")}
    return {**kept, "SAMEHERE_HOME": str(home), "SAMEHERE_TOOLCHAINS": str(SHARED_TOOLCHAINS), "PYTHONUNBUFFERED": "1"}


def free_port() -> int:
    """A port that was free a moment ago."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def start_service(home: Path, *options: str, environment: dict[str, str] | None = None) -> Service:
    """Start `samehere serve` and wait until it is ready; fails with the end of its log."""
    port = free_port()
    log = home / "serve.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.serve", "--port", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**service_environment(home), **(environment or {})},
            start_new_session=True,
        )
    service = Service(url=f"http://127.0.0.1:{port}", home=home, log=log, process=process)
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if is_ready(service.url):
            return service
        time.sleep(0.1)
    stop_service(service)
    pytest.fail(f"`samehere serve` did not get ready (status {process.returncode}):\n{log.read_text(errors='replace')[-6000:]}")


def is_ready(url: str) -> bool:
    """Whether /readyz answers 200."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as response:  # noqa: S310  # our own
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def stop_service(service: Service) -> int:
    """End a service in order; its exit status."""
    if service.process.poll() is None:
        service.process.send_signal(signal.SIGTERM)
    try:
        return service.process.wait(60)
    except subprocess.TimeoutExpired:
        service.process.kill()
        return service.process.wait(10)


@pytest.fixture(scope="session")
def service(session_home: Path, toolchain: str) -> Iterator[Service]:
    """A whole service with a local node, for tests that only add to it."""
    home = session_home / "service"
    home.mkdir()
    home.chmod(0o711)
    running = start_service(home)
    yield running
    stop_service(running)
