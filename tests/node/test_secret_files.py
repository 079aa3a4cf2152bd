"""Passwords in files: any characters, and messages that name the variable and never the password."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis
from pydantic import ValidationError
from sqlalchemy import make_url

from app.embedded.postgres import EmbeddedPostgres
from app.settings import ServiceSettings
from app.storage.migrate import upgrade
from worker.contract.broker.url import celery_url, redis_url
from worker.contract.secret_file import add_password, read_secret
from worker.machine.settings import NodeSettings

HARD = "p@s/s:w#o%r%20d ?&'\"\\é=[::1]"


def plain(url: Any) -> str:
    return str(url.get_secret_value() if hasattr(url, "get_secret_value") else url)


def secret(folder: Path, text: str) -> Path:
    path = folder / "password"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "url",
    [
        "redis://broker:6379/0",
        "redis://node.a@broker:6379/0",
        "redis+socket:///run/v.sock",
        "rediss://[::1]:1/2",
    ],
)
def test_every_client_reads_the_same_password(url: str) -> None:
    from kombu.utils.url import url_to_parts

    whole = add_password(url, HARD)
    arguments = redis.ConnectionPool.from_url(redis_url(whole)).connection_kwargs
    assert arguments["password"] == HARD
    assert arguments.get("username") == ("node.a" if "node.a" in url else None)
    assert url_to_parts(celery_url(whole)).password == HARD
    assert add_password(url, "x").replace(":x@", "@" if "node.a" in url else "") == url


def test_a_setting_gets_its_password_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = secret(tmp_path, f"{HARD}\n")
    for name in ("DATABASE", "BROKER"):
        monkeypatch.setenv(f"SAMEHERE_{name}_PASSWORD_FILE", str(path))
    monkeypatch.setenv("SAMEHERE_DATABASE_URL", "postgresql://samehere@postgres/samehere")
    monkeypatch.setenv("SAMEHERE_BROKER_URL", "redis://broker:6379/0")
    service = ServiceSettings()
    assert make_url(plain(service.database_url)).password == HARD
    assert redis.ConnectionPool.from_url(plain(service.broker_url)).connection_kwargs["password"] == HARD
    assert plain(NodeSettings().broker_url) == plain(service.broker_url)


@pytest.mark.parametrize(
    ("text", "url", "reason"),
    [
        ("", "redis://broker/0", "is empty"),
        ("one\ntwo\n", "redis://broker/0", "more than one line"),
        ("x" * 5000, "redis://broker/0", "longer than 4096 bytes"),
        ("topsecret", "redis://:other@broker/0", "has a password already"),
        ("topsecret", "", "needs SAMEHERE_BROKER_URL"),
    ],
)
@pytest.mark.parametrize("settings", [ServiceSettings, NodeSettings])
def test_a_wrong_file_is_refused_by_name(
    tmp_path: Path, settings: Any, text: str, url: str, reason: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        settings(broker_url=url, broker_password_file=secret(tmp_path, text))
    message = str(caught.value)
    assert "SAMEHERE_BROKER_PASSWORD_FILE" in message
    assert reason in message
    assert not [word for word in ("topsecret", "other@", "xxxx") if word in message]


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(ValueError, match="can't read the secret in /nonexistent: No such file"):
        read_secret(Path("/nonexistent"))


def test_the_worker_names_the_variable(tmp_path: Path) -> None:
    variables = {**os.environ, "SAMEHERE_BROKER_PASSWORD_FILE": str(tmp_path / "none")}
    variables["SAMEHERE_BROKER_URL"] = "redis://127.0.0.1:1/0"
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "worker", "node"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.strip().endswith("No such file or directory")
    assert "SAMEHERE_BROKER_PASSWORD_FILE" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_database_with_any_password(
    tmp_path: Path, postgres: EmbeddedPostgres, empty_database: str
) -> None:
    """A real role logs in and migrates through such a URL."""
    import psycopg
    from psycopg import sql

    role = f"r{os.getpid()}"
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        name = sql.Identifier(role)
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(HARD)))
        database = empty_database.rpartition("@/")[2].partition("?")[0]
        connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(database), name))
    place = empty_database.rpartition("@")[2]
    settings = ServiceSettings(
        database_url=f"postgresql://{role}@{place}", database_password_file=secret(tmp_path, HARD)
    )
    upgrade(plain(settings.database_url))


@pytest.mark.parametrize(
    ("beat", "status"), [(None, 1), ("nonsense", 1), ('{"node": "n1", "instance": "i"}', 0)]
)
def test_health_of_a_node(broker_url: str, beat: str | None, status: int) -> None:
    from worker.contract.names import heartbeat_key
    from worker.machine.broker import connect

    broker = connect(broker_url)
    if beat is not None:
        broker.set(heartbeat_key("n1"), beat)
    broker.close()
    variables = {**os.environ, "SAMEHERE_BROKER_URL": broker_url, "SAMEHERE_NODE_NAME": "n1"}
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "worker", "health"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert bool(ended.stderr) == (status != 0)
