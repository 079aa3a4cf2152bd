"""Nothing of the current folder is run or obeyed, whatever command or process of samehere starts there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import psutil
import pytest
import redis
import typer
from running_service import Service, service_environment, start_service, stop_service
from strangers_folder import StrangersFolder, leaves_a_mark, make_strangers_folder
from tiny_wheels import make_wheel

from app.cli import application
from worker.contract.programs.probe import probe_program
from worker.contract.programs.repeat import RecordedAttempt, repeat_program

pytestmark = pytest.mark.service

START = Path(__file__).parents[2] / "samehere.py"
# A variable of Python that the caller has, and that no process of ours may inherit.
VARIABLE = "PYTHONBREAKPOINT"
NO_ID = "0" * 26

# The words of every command, so that each gets as far as it can. SERVER: `--server` and the service's URL.
COMMANDS: dict[str, list[str]] = {
    "reproduce": ["report.py", "--target", "cpu", "--repeats", "1", "--json"],
    "explain": ["report.py", "--target", "cpu", "--json"],
    "bisect": ["report.py", "--json"],
    "read": ["report.py", "--json"],
    "probe": [],
    "presets": ["--json"],
    "cancel": [NO_ID, "SERVER"],
    "rerun": [NO_ID, "SERVER"],
    "add-cell": [NO_ID, "cpu", "SERVER"],
    "export": [NO_ID, "-o", "bundle.json", "SERVER"],
    "import": ["no-bundle.json", "SERVER"],
    "import-issues": ["no-issues.json", "SERVER"],
    "gate": [NO_ID, "SERVER"],
    "workflow-summary": ["no-run.json"],
    "mcp": ["SERVER"],
    "webhook add": ["https://bot.example/news", "SERVER"],
    "webhook list": ["SERVER"],
    "webhook log": [NO_ID, "SERVER"],
    "webhook ping": [NO_ID, "SERVER"],
    "webhook resend": [NO_ID, NO_ID, "SERVER"],
    "webhook rotate": [NO_ID, "SERVER"],
    "webhook remove": [NO_ID, "SERVER"],
    "serve": ["--help"],
    "judge-again": ["--all"],
    "read-again": ["--all", "--preview"],
    "dump": ["dump.samehere"],
    "restore": ["dump.samehere"],
    "token create": ["--scope", "read"],
    "token list": ["--json"],
    "token revoke": [NO_ID],
    "node-key create": ["other"],
    "node-key list": [],
    "node-key revoke": ["revoked"],
    "node": ["--name", "other"],
    "toolchain": ["list", "--json"],
    "doctor": ["--json"],
}
# Statuses other than 0, since the folder has no such run, toolchain or file.
FAILING = {
    **dict.fromkeys(("restore", "cancel", "rerun", "add-cell", "export", "token revoke"), 2),
    **dict.fromkeys([f"webhook {name}" for name in ("log", "ping", "resend", "rotate", "remove")], 2),
    "workflow-summary": 2,
    "gate": 5,
}


def commands(group: click.Command | None = None, *before: str) -> Iterator[str]:
    """The names of all commands of the command line."""
    group = group or typer.main.get_command(application)
    inside = getattr(group, "commands", None)
    if inside is None:
        yield " ".join(before)
    else:
        for name, command in inside.items():
            yield from commands(command, *before, name)


@pytest.fixture(scope="module")
def folder(session_home: Path) -> StrangersFolder:
    made = make_strangers_folder(session_home / "stranger")
    (made.path / "report.py").write_text("# Claim: prints 'answer 42'\nprint('answer 42')\n")
    (made.path / "no-bundle.json").write_text("{}")
    (made.path / "no-issues.json").write_text("[]")
    assert leaves_a_mark(made)
    return made


@pytest.fixture(scope="module")
def service_there(folder: StrangersFolder, session_home: Path, toolchain: str) -> Iterator[Service]:
    """A whole service that was started in the stranger's folder."""
    assert toolchain
    home = session_home / "there"
    home.mkdir(exist_ok=True)
    home.chmod(0o711)
    service = start_service(home, environment={VARIABLE: "0"}, folder=folder.path)
    try:
        # The tests run in any order, so the key that one of them revokes is there before all of them.
        words = [sys.executable, "-P", str(START), "node-key", "create", "revoked"]
        created = run_there(folder, words, service.environment)
        assert created.returncode == 0, created.stderr
        yield service
    finally:
        stop_service(service)


@pytest.fixture(autouse=True)
def _no_mark_before(folder: StrangersFolder) -> None:
    folder.mark_file.write_text("")


def run_there(
    folder: StrangersFolder, command: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder.path,
        env={**environment, VARIABLE: "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_every_command_is_tried() -> None:
    assert sorted(commands()) == sorted(COMMANDS)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "node"])
def test_a_command(command: str, folder: StrangersFolder, service_there: Service) -> None:
    words = [*command.split(), *COMMANDS[command]]
    if words[-1] == "SERVER":
        words[-1:] = ["--server", service_there.url]
    done = run_there(folder, [sys.executable, "-P", str(START), *words], service_there.environment)
    assert folder.marks() == ""
    assert "Traceback" not in done.stderr
    if command == "reproduce":
        assert json.loads(done.stdout)["verdict"] == "reproduced", done.stderr
    if command not in {"reproduce", "bisect", "import", "import-issues"}:
        assert done.returncode == FAILING.get(command, 0), done.stderr
    assert not (folder.path / "obeyed").exists()


def test_every_process_of_the_service(folder: StrangersFolder, service_there: Service) -> None:
    """Recorder, web, beat, node, Postgres and Valkey run, and none of them is in the folder."""
    below = psutil.Process(service_there.process.pid).children(recursive=True)
    seen = {}
    for process in below:
        try:
            if process.uids().real == os.geteuid() or os.geteuid() == 0:
                seen[" ".join(process.cmdline())] = (process.cwd(), process.environ())
        except psutil.Error:
            continue
    for words in ("app.serve.web", "app.tasks worker", "app.tasks beat", "worker node", "postgres", "valkey"):
        assert any(words in command for command in seen), words
    for command, (working_folder, variables) in seen.items():
        assert not working_folder.startswith(str(folder.path)), command
        assert VARIABLE not in variables, command
    assert folder.marks() == ""


@pytest.mark.parametrize(
    "module",
    ["app.serve.database", "app.serve.backfill search", "app.tasks beat", "app.tasks worker", "worker node"],
)
def test_a_process_that_is_started_by_itself(
    module: str, folder: StrangersFolder, database: str, broker_url: str, home: Path
) -> None:
    """As in a container or by systemd: a process that stays must not have the folder as its own."""
    environment = {**service_environment(home), "SAMEHERE_DATABASE_URL": database, VARIABLE: "0"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", *module.split()],
        cwd=folder.path,
        env={**environment, "SAMEHERE_BROKER_URL": broker_url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if module.startswith("app.serve"):
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 0
    else:
        seen = psutil.Process(process.pid)
        with broker(broker_url) as connection:
            while process.poll() is None and not is_at_work(connection, module):
                time.sleep(0.05)
        assert process.poll() is None, process.communicate()
        assert seen.cwd() == "/"
        process.terminate()
        process.communicate(timeout=60)
    assert folder.marks() == ""


def broker(url: str) -> redis.Redis:
    return redis.Redis(unix_socket_path=url.removeprefix("redis+socket://"))


def is_at_work(connection: redis.Redis, module: str) -> bool:
    """Whether a process has sent its first message, or waits for messages."""
    if module == "app.tasks worker":
        return bool(connection.exists("samehere:recorder-since"))
    if module == "app.tasks beat":
        return bool(connection.llen("dispatcher"))
    return bool(connection.exists("samehere:heartbeat:local"))


def test_a_toolchain_is_built(folder: StrangersFolder, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip and uv obey the user's variables and the user's files, and no file of the folder."""
    wheels = folder.path / "wheels"
    make_wheel(wheels, "thing")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    user = home / "user"
    (user / ".config" / "pip").mkdir(parents=True)
    (user / ".config" / "uv").mkdir()
    # A relative path in a variable of the user means a file below the folder in which the user stands.
    (user / ".config" / "pip" / "pip.conf").write_text("[global]\nno-index = true\n")
    environment = {
        **os.environ,
        "SAMEHERE_HOME": "own-home",
        "SAMEHERE_TOOLCHAINS": str(home / "toolchains"),
        "HOME": str(user),
        "XDG_CONFIG_HOME": str(user / ".config"),
        "PIP_FIND_LINKS": "wheels",
    }
    words = [sys.executable, "-P", str(START), "toolchain"]
    done = run_there(folder, [*words, "add", "made", "thing"], environment)
    assert (done.stdout, done.stderr, folder.marks()) == ("made is ready\n", "", "")
    # The user's own uv.toml is read: a broken one stops the build.
    (user / ".config" / "uv" / "uv.toml").write_text("this is not TOML\n")
    make_wheel(wheels, "other")
    done = run_there(folder, [*words, "add", "second", "other"], environment)
    assert (done.returncode, str(user / ".config" / "uv" / "uv.toml") in done.stderr) == (2, True)


@pytest.mark.parametrize("options", [[], ["-P"], ["-I"]], ids=" ".join)
def test_repeat_py(options: list[str], folder: StrangersFolder) -> None:
    attempt = RecordedAttempt(
        script="import sys\nprint('answer', 42)\n",
        target="cpu",
        device="cpu",
        exit_status=0,
        stdout="answer 42\n",
        settings={"threads": "1"},
    )
    (folder.path / "repeat.py").write_text(repeat_program(attempt))
    done = run_there(folder, [sys.executable, *options, "repeat.py"], os.environ)
    assert (done.returncode, done.stderr, folder.marks()) == (0, "", "")
    assert "The same result here: yes" in done.stdout


@pytest.mark.parametrize("options", [[], ["-P"], ["-I"]], ids=" ".join)
def test_probe_py(options: list[str], folder: StrangersFolder, tmp_path: Path) -> None:
    (folder.path / "probe.py").write_text(probe_program())
    # The folder of the reporter's own script is the reporter's: Python looks there for its modules.
    script = tmp_path / "script.py"
    script.write_text("print('answer', 42)\n")
    done = run_there(folder, [sys.executable, *options, "probe.py", str(script)], os.environ)
    assert (done.returncode, done.stderr, folder.marks()) == (0, "", "")
    assert "answer 42" in done.stdout
    assert "samehere-probe" in done.stdout
