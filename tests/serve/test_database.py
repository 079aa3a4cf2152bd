"""The database for a command: the running service's, or one for as long as the command takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated import is_current
from sqlalchemy import NullPool, create_engine
from sqlalchemy.orm import Session

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.server import holders
from app.embedded.valkey import EmbeddedValkey
from app.errors import SetupError, UnavailableError
from app.runs.maintenance.tokens import Scope, create
from app.serve.database import database as command_database
from app.serve.database import migrate
from app.serve.exposure import require_token
from app.settings import ServiceSettings


def test_one_is_started_and_ended_again(home: Path) -> None:
    with command_database(ServiceSettings(home=home)) as url:
        assert is_current(url)
        assert holders(home / "postgres" / "data", "postgres")
    assert holders(home / "postgres" / "data", "postgres") == []


def test_the_running_one_is_used_and_left_alone(home: Path) -> None:
    running = EmbeddedPostgres(home)
    try:
        url = running.start()
        migrate(url)
        with command_database(ServiceSettings(home=home)) as found:
            assert found == url
        assert running.is_running()
    finally:
        running.stop()


def test_a_named_one_is_taken_as_it_is(home: Path) -> None:
    with command_database(ServiceSettings(home=home, database_url="postgresql://elsewhere/x")) as url:
        assert url == "postgresql://elsewhere/x"
    assert list(home.iterdir()) == []


def test_a_broker_is_found_only_while_it_runs(home: Path) -> None:
    running = EmbeddedValkey(home)
    assert EmbeddedValkey(home).attach() is None
    try:
        url = running.start()
        assert EmbeddedValkey(home).attach() == url
    finally:
        running.stop()
    assert EmbeddedValkey(home).attach() is None


def test_a_database_that_is_newer_is_left_alone(empty_database: str) -> None:
    import psycopg

    migrate(empty_database)
    with psycopg.connect(empty_database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
    with pytest.raises(SetupError, match="newer version"):
        migrate(empty_database)


def test_the_web_alone_keeps_to_loopback_without_a_token(database: str) -> None:
    settings = ServiceSettings(host="0.0.0.0")  # noqa: S104
    with pytest.raises(SetupError, match="no token exists"):
        require_token(settings, database)
    require_token(ServiceSettings(), database)
    with pytest.raises(UnavailableError, match="can't reach the database"):
        require_token(settings, "postgresql://nobody@127.0.0.1:1/x")
    engine = create_engine(database, poolclass=NullPool)
    with Session(engine) as session, session.begin():
        create(session, name="first", scopes=[Scope.READ])
    require_token(settings, database)
