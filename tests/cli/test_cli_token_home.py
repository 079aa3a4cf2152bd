"""`samehere token` says in which home it works, and warns if a running service uses another one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running_service import service_environment

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.running_homes import home_in, running_homes
from app.serve.database import migrate


def token(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "token", *words],
        env={**service_environment(home), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.service
def test_a_token_for_another_home_than_that_of_the_running_demo_is_no_silence(home: Path) -> None:
    demo = EmbeddedPostgres(home / "demo")
    (home / "demo").mkdir()
    migrate(demo.start())
    try:
        assert home / "demo" in running_homes()
        made = token(home, "create", "--name", "ada", "--scope", "maintain")
        assert made.returncode == 0, made.stderr
        assert f"no service runs on the home {home}," in made.stderr
        assert f"but on this machine one runs on {home}/demo." in made.stderr
        assert f"If you mean it, set SAMEHERE_HOME={home}/demo" in made.stderr
        assert f"in the home {home}. It is shown only now" in made.stderr
        assert made.stdout.startswith("samehere_")
        # In the home of the running one, nothing is wrong.
        right = token(home / "demo", "create", "--name", "ada", "--scope", "maintain", "--json")
        assert "Attention" not in right.stderr
        assert json.loads(right.stdout)["home"] == str(home / "demo")
        listed = token(home, "list", "--json")
        assert "Attention: no service runs on" in listed.stderr
        assert [one["name"] for one in json.loads(listed.stdout)] == ["ada"]
    finally:
        demo.stop()
    assert home / "demo" not in running_homes()


@pytest.mark.service
def test_a_server_of_your_own_is_named_without_its_password(home: Path, database: str) -> None:
    made = token(home, "create", "--name", "b", "--scope", "read", SAMEHERE_DATABASE_URL=database)
    assert made.returncode == 0, made.stderr
    assert "in the database " in made.stderr
    assert "Attention" not in made.stderr
    assert database not in made.stderr


def test_only_our_own_servers_count() -> None:
    data, configuration = "/srv/s/postgres/data", "config_file=/srv/s/postgres/postgresql.conf"
    assert home_in(["/x/bin/postgres", "-D", data, "-c", configuration]) == Path("/srv/s")
    assert home_in(["/x/bin/postgres", "-D", "/var/lib/postgresql/data"]) is None
    assert home_in(["/bin/cat", "-D", data, "-c", configuration]) is None
    assert home_in(["postgres: checkpointer"]) is None
