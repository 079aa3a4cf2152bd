"""Fixtures: real servers, a real toolchain and a whole service, each in a temporary folder."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psycopg
import pytest
import structlog
from psycopg import sql
from running_service import (
    ENVIRONMENTS_VARIABLE,
    SHARED_TOOLCHAINS,
    Service,
    own_uids,
    start_service,
    stop_service,
)
from sqlalchemy import NullPool, create_engine
from sqlalchemy.orm import Session

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.valkey import EmbeddedValkey

if TYPE_CHECKING:
    from running_web import Web
    from stage import Stage

# A busy machine is no failure: examples have no deadline of their own.
hypothesis.settings.register_profile("samehere", deadline=None)
hypothesis.settings.load_profile("samehere")
TEMPLATE = "samehere_template"
MEMORY = Path("/dev/shm")  # a new folder in it
# A few databases and logs of a gigabyte, for each of the parallel processes.
MEMORY_BYTES = 8 * 1024**3

# These begin first, the longest at the head, so that no worker is left alone with one of them at the end.
LONGEST_FIRST = (
    "api/test_api_schema",
    "web/test_web_weight",
    "cli/test_strangers_folder",
    "serve/test_supervisor",
    "intake/test_hostile",
    "mini/test_report_verdicts",
    "chaos/test_chaos_endings",
    "chaos/test_chaos_kills",
    "node/test_node_trace",
    "chaos/test_chaos_over_time",
    "conventions/test_patterns",
    "node/test_node_printing_unseen",
    "warm/test_fidelity",
    "warm/test_warm_lifecycle",
    "cli/test_documented_commands",
    "targets/test_bisection",
    "service/test_service_processes",
    "warm/test_warm_attempts",
    "chaos/",
    "sandbox/test_limits",
    "sandbox/test_leftovers",
    "service/test_service_matrices",
    "node/test_node_settings_in_force",
    "node/test_node_passage",
    "cli/",
    "cards/test_known_answer",
    "judging/test_properties",
    "command/",
    "node/",
    "web/",
    "mini/",
    "sandbox/",
    "warm/",
    "serve/",
    "operations/",
    "service/",
    "embedded/",
    "toolchains/",
    "api/",
)

# Without this, structlog draws every traceback with its variables, which takes half a minute for one.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Undo the set-up of the log by a command that the test called in this process."""
    root = logging.getLogger()
    handlers, level, config = root.handlers[:], root.level, structlog.get_config()
    yield
    structlog.configure(**config)
    root.handlers[:], root.level = handlers, level


# A shell ignores these signals for background programs, `nohup` the last one. Without this, every program
# that the tests start would ignore them too.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """The first process makes the folder of recorded environments; parallel workers inherit it."""
    if ENVIRONMENTS_VARIABLE not in os.environ:
        folder = os.environ[ENVIRONMENTS_VARIABLE] = tempfile.mkdtemp(prefix="samehere-environments-")

        def remove() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            del os.environ[ENVIRONMENTS_VARIABLE]

        config.add_cleanup(remove)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """While tests are collected, nothing becomes garbage, and looking for it costs a quarter of the time.

    Nor is it looked for later in the thousands of tests and their modules.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def rank(item: pytest.Item) -> int:
    """The place of a test's file in LONGEST_FIRST; all others come after these."""
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    places = (place for place, start in enumerate(LONGEST_FIRST) if path.startswith(start))
    return next(places, len(LONGEST_FIRST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, and failed tests of real processes once more, since the machine is
    shared and noisy.

    The summary names each such test.
    """
    items.sort(key=rank)
    for item in items:
        if any(item.get_closest_marker(name) for name in ("service", "sandbox", "browser")):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, session_home: Path) -> None:
    """No test sees the settings of its caller, waits for others' slots, or takes packages from an index
    unasked.
    """
    for name in [name for name in os.environ if name.startswith("SAMEHERE_")]:
        monkeypatch.delenv(name)
    # The variable of a parallel pytest: nobody asked for this width.
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("SAMEHERE_LOCKS", str(session_home / "locks"))
    for name, value in own_uids().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SAMEHERE_PACKAGES_ALLOWED", "")


@pytest.fixture(scope="session")
def session_home() -> Iterator[Path]:
    """A folder for the servers of this test session; short, and one that the servers' own uid may enter."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-tests-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A new SAMEHERE_HOME for one test."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_home(session_home: Path) -> Iterator[Path]:
    """In memory, where there is room: each database has hundreds of files, which cost a disk more time than
    all else that Postgres does here.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < MEMORY_BYTES:
        yield session_home
        return
    folder = Path(tempfile.mkdtemp(prefix="samehere-tests-", dir=MEMORY))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(postgres_home: Path) -> Iterator[EmbeddedPostgres]:
    """The Postgres of this test session, with a migrated template database; it does not wait for the disk."""
    from app.storage.migrate import upgrade

    server = EmbeddedPostgres(postgres_home)
    server.start()
    with psycopg.connect(server.admin_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        # No database lives for long enough to be cleaned up.
        connection.execute("ALTER SYSTEM SET autovacuum = off")
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
    """A session. All its commits are undone when the test ends."""
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


@pytest.fixture(scope="module")
def stage_of_module(postgres: EmbeddedPostgres, broker_server: EmbeddedValkey) -> Iterator[Stage]:
    """A stage that a module fills once. Other tests may empty its broker."""
    from stage import Stage

    from app.settings import ServiceSettings

    name = f"module_{uuid.uuid4().hex}"
    url = _create_database(postgres, name, template=TEMPLATE)
    made = Stage(ServiceSettings(database_url=url, broker_url=broker_server.url, lease_seconds=3600.0))
    yield made
    made.close()
    _drop_database(postgres, name)


@pytest.fixture
def other_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A second database, for a second service."""
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


@pytest.fixture
def stage(database: str, broker_url: str) -> Iterator[Stage]:
    """A service without processes: a database, a broker, and nodes that the test plays."""
    from stage import Stage

    from app.settings import ServiceSettings

    made = Stage(ServiceSettings(database_url=database, broker_url=broker_url, lease_seconds=2.0))
    yield made
    made.close()


@pytest.fixture
def web(stage: Stage) -> Iterator[Web]:
    """The web of a stage, over HTTP."""
    from running_web import web_of

    with web_of(stage) as running:
        yield running


@pytest.fixture(scope="session")
def toolchains() -> Path:
    """The folder of the toolchains that `make toolchain` built."""
    return SHARED_TOOLCHAINS


@pytest.fixture(scope="session")
def toolchain(toolchains: Path) -> str:
    """The name of a toolchain with torch."""
    names = sorted(
        path.name for path in toolchains.glob("torch-*") if not path.name.endswith((".new", ".failed"))
    )
    if not names:
        reason = f"no toolchain with torch in {toolchains}: build one with `make toolchain`"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return names[0]


@pytest.fixture(scope="module")
def service(session_home: Path, toolchain: str) -> Iterator[Service]:
    """A whole service with a local node, for tests that only add to it.

    It ends with the file: even an idle one takes a second of the processor in each minute.
    """
    home = Path(tempfile.mkdtemp(prefix="service-", dir=session_home))
    home.chmod(0o711)
    running = start_service(home)
    yield running
    stop_service(running)
