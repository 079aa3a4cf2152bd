"""A part that is missing or wrong is named in one line that says what to do. No command loops."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import redis
from pydantic import SecretStr
from running_service import service_environment

from app.embedded.valkey import EmbeddedValkey
from app.errors import SetupError
from app.extras import NODE_MODULES
from app.settings import read_settings

ROOT = Path(__file__).parents[2]
START = ROOT / "samehere.py"
# Modules of the base installation that the node imports, too.
BASE = {"packaging", "pydantic", "pydantic_settings", "structlog"}
NODE = ("psutil", "tomli_w")
SERVICE = ("alembic", "fastapi", "psycopg", "sqlalchemy")
# Runs the command line in a Python that lacks some modules, as an installation without an extra does.
WITHOUT = """
import sys
missing = set(sys.argv.pop(1).split(","))
class Rest:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in missing else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Rest(finder) for finder in sys.meta_path]
sys.argv[0] = "samehere"
from app.cli import main
main()
"""


def run(*command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *command],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def assert_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert (done.returncode, done.stdout) == (2, "")


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """The first names of the modules that a module imports when it is imported itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_version() -> None:
    done = run(str(START), "--version", environment=dict(os.environ))
    assert (done.stdout, done.returncode) == ("samehere 0.1.0\n", 0)
    helped = run(str(START), "--help", environment=dict(os.environ))
    assert "Settles bug reports" in helped.stdout
    assert "--version" in helped.stdout


def test_all_modules_of_the_node_are_looked_for() -> None:
    found = {
        name
        for path in (ROOT / "worker").rglob("*.py")
        if "harness" not in path.parts
        for name in imported_modules(ast.parse(path.read_text()))
    }
    # psutil is imported when it is first used.
    assert {"psutil"} | found - set(sys.stdlib_module_names) - BASE - {"worker"} == set(NODE_MODULES)


@pytest.mark.parametrize(
    ("words", "missing", "remedy"),
    [
        (["serve", "--port", "0"], NODE, "pip install 'samehere[node]', or --no-node"),
        (["node"], NODE, "pip install 'samehere[node]'"),
        (["doctor"], NODE, "pip install 'samehere[node]'"),
        (["reproduce", "REPORT"], NODE, "pip install 'samehere[node]', or --server URL"),
        (["serve", "--no-node"], SERVICE, "pip install 'samehere[service,embedded"),
        (["token", "create", "--scope", "read"], SERVICE, "pip install 'samehere[service,embedded]'"),
        (["token", "list"], SERVICE, "pip install 'samehere[service,embedded]'"),
        (["token", "revoke", "x"], SERVICE, "pip install 'samehere[service,embedded]'"),
        (["judge-again", "--all"], SERVICE, "pip install 'samehere[service,embedded]'"),
        (["read-again", "--all", "--preview"], SERVICE, "pip install 'samehere[service,embedded]'"),
        (["mcp"], ("mcp", "httpx2"), "pip install 'samehere[mcp]'"),
        (["dump", "x"], SERVICE, "pip install 'samehere[service,embedded]'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_missing_extra(words: list[str], missing: tuple[str, ...], remedy: str, home: Path) -> None:
    (home / "report.py").write_text("# Claim: prints 'answer 42'\nprint('answer 42')\n")
    words = [str(home / "report.py") if word == "REPORT" else word for word in words]
    done = run("-c", WITHOUT, ",".join(missing), *words, environment=service_environment(home))
    assert_one_line(done, remedy)


def test_a_database_that_is_not_migrated(home: Path, empty_database: str) -> None:
    environment = {**service_environment(home), "SAMEHERE_DATABASE_URL": empty_database}
    done = run(str(START), "token", "create", "--scope", "read", environment=environment)
    assert_one_line(done, "Migrate it")


@pytest.mark.parametrize(
    "command",
    [
        [str(START), "token", "list"],
        ["-m", "app.serve"],
        ["-m", "app.tasks", "beat"],
    ],
    ids=lambda command: " ".join(command[-2:]),
)
def test_a_database_of_another_kind(command: list[str], home: Path) -> None:
    environment = {**service_environment(home), "SAMEHERE_DATABASE_URL": "mysql://me:secret@there/x"}
    done = run(*command, environment=environment)
    assert_one_line(done, "SAMEHERE_DATABASE_URL", "only Postgres is possible: postgresql://")
    assert "secret" not in done.stderr


@pytest.mark.parametrize("url", ["mysql://me:secret@there/x", "redis://me:secret@there:port/0", "secret"])
def test_a_broker_url_that_can_not_be(url: str) -> None:
    with pytest.raises(SetupError, match="only Redis or Valkey is possible") as raised:
        read_settings(broker_url=SecretStr(url))
    assert "secret" not in raised.value.message


def test_a_broker_of_another_kind(home: Path) -> None:
    url = "mysql://me:secret@there/x"
    done = run(str(START), "node", environment={**service_environment(home), "SAMEHERE_BROKER_URL": url})
    assert_one_line(done, "only Redis or Valkey is possible: redis://")
    assert "secret" not in done.stderr


@pytest.fixture
def wrong_broker(session_home: Path) -> Iterator[str]:
    """A broker with a password, at a URL with another one."""
    home = session_home / "with-password"
    home.mkdir(exist_ok=True)
    home.chmod(0o711)
    server = EmbeddedValkey(home)
    path = server.start().removeprefix("redis+socket://")
    with redis.Redis(unix_socket_path=path) as connection:
        connection.config_set("requirepass", "right")
    yield f"redis+socket://:wrong@{path}"
    server.stop()


def test_a_wrong_password_of_the_broker(home: Path, database: str, wrong_broker: str) -> None:
    """Nothing is tried again and again: the password does not become right by that."""
    environment = {
        **service_environment(home),
        "SAMEHERE_DATABASE_URL": database,
        "SAMEHERE_BROKER_URL": wrong_broker,
    }
    for command in (
        [str(START), "serve", "--port", "0"],
        [str(START), "node"],
        ["-m", "app.tasks", "worker"],
    ):
        done = run(*command, environment=environment)
        assert_one_line(done, "the broker refuses the user or the password", "SAMEHERE_BROKER_URL")
        assert "wrong" not in done.stderr


def test_a_wrong_password_of_the_database(home: Path, database: str) -> None:
    before, _, rest = database.partition("://samehere:")
    url = f"{before}://samehere:{quote('not it')}@{rest.partition('@')[2]}"
    environment = {**service_environment(home), "SAMEHERE_DATABASE_URL": url}
    done = run(str(START), "serve", "--port", "0", "--no-node", environment=environment)
    assert_one_line(done, "can't reach the database", "password authentication failed")
    listed = run(str(START), "token", "list", environment=environment)
    assert listed.stderr.count("\n") == 1
    assert "password authentication failed" in listed.stderr
