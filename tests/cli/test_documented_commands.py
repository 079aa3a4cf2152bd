"""Every command in the pages is one that the programs take, and the operator's are run in a home."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import bare_environment

from app.cli import application

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
UNITS = sorted((ROOT / "ops" / "systemd").glob("*.*"))
# The operator's commands run here one after the other, in one home with one server.
OPERATORS = (
    "python -m app.serve.database",
    "python -m app.serve.backfill search",
    "python -m app.serve.backfill standing",
    "python -m app.serve.backfill webhook-keys",
    "samehere token create --name bot --scope submit",
    "samehere token list --json",
    "samehere judge-again --all",
    "samehere read-again --all --preview",
    "samehere dump samehere-2026-11-29.dump",
)


def lines(page: str) -> Iterator[str]:
    """The command lines of a page's blocks, without prompts and with their continued lines."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            yield line.strip().removeprefix("$ ")
    for line in re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)):
        yield " ".join(line.split())


def words_of(line: str) -> list[str]:
    """The words of a command line, without variables before it and what follows a redirection."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    for end in (">", "|", "&", "…"):
        if end in words:
            words = words[: words.index(end)]
    return words


def commands(page: str) -> list[list[str]]:
    """The `samehere` commands and Python programs of a page, by their words."""
    all_commands = []
    for words in map(words_of, lines(page)):
        if not words:
            continue
        program = words[0].rpartition("/")[2]
        if program == "samehere" and len(words) > 1 and "COMMAND" not in words:
            all_commands.append(["samehere", *words[1:]])
        elif program == "python" and words[1:2] == ["-m"] and words[2].startswith(("app.", "worker")):
            all_commands.append(["python", *words[1:]])
    return all_commands


# Typer brings a click of its own, whose error for a wrong command line is the base of this one.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
INCOMPLETE = (typer._click.exceptions.MissingParameter, typer._click.exceptions.BadOptionUsage)


@cache
def help_of(module: str, *words: str) -> str:
    """The help of a program or of one of its commands. Each is started once for all pages."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *words, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def options_of_node(words: tuple[str, ...]) -> set[str]:
    """The options of a command that `samehere` passes on to the node's own program."""
    inner = words[:2] if words[0] == "toolchain" else words[:1]
    return set(re.findall(r"--[a-z-]+", help_of("worker", *inner)))


def check(words: list[str]) -> None:
    """Raise UsageError for a command that `samehere` does not take, KeyError for an unknown option.

    A page names some commands without their arguments.
    """
    command: Any = typer.main.get_command(application)
    context, rest = command.context_class(command), words
    while rest and hasattr(command, "resolve_command"):
        _, command, rest = command.resolve_command(context, rest)
        parent, context = context, command.context_class(command, parent=context)
        if not hasattr(command, "resolve_command"):
            options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            if command.context_settings.get("ignore_unknown_options"):
                options |= options_of_node((command.name, *rest[:1]))
            for word in rest:
                name = word.strip("[]").partition("=")[0]
                if name.startswith("--") and name not in {*options, "--help"}:
                    raise KeyError(name)
            try:
                command.make_context(command.name, list(rest), parent=parent)
            except INCOMPLETE:
                return


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_of_a_page_is_taken(path: Path) -> None:
    for words in commands(path.read_text()):
        if words[0] == "samehere":
            try:
                check(words[1:])
            except (UsageError, KeyError) as error:
                pytest.fail(f"{path.name}: {shlex.join(words)}: {error}")
        else:
            help_of(words[2])


def test_a_command_that_does_not_exist_is_seen() -> None:
    page = "```\nsamehere reproduce x.md --frobnicate\n```\nThen `samehere dumb x` runs.\n"
    assert commands(page) == [["samehere", "reproduce", "x.md", "--frobnicate"], ["samehere", "dumb", "x"]]
    for words in commands(page):
        with pytest.raises((UsageError, KeyError)):
            check(words[1:])


def test_the_operators_commands_run_as_the_page_has_them(home: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    environment = {**bare_environment(home), "PYTHONPATH": str(ROOT)}

    def run(line: str) -> str:
        words = [sys.executable, "-P", "-m", "app.cli", *shlex.split(line)[1:]]
        if line.startswith("python"):
            words = [sys.executable, "-P", *shlex.split(line)[1:]]
        done = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    for line in OPERATORS:
        assert line.partition(" --json")[0] in page, line
        run(line)
    (home / "second").mkdir()
    environment["SAMEHERE_HOME"] = str(home / "second")
    assert "0 runs" in run("samehere restore samehere-2026-11-29.dump")
    assert '"bot"' in run("samehere token list --json")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """With our own program in the place of that in /opt, since systemd looks whether it exists."""
    program = tmp_path / "samehere"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    paths = []
    for unit in UNITS:
        text = unit.read_text()
        path = tmp_path / unit.name
        path.write_text(text.replace("/opt/samehere/bin/samehere", str(program)))
        paths.append(str(path))
        for words in re.findall(r"/opt/samehere/bin/samehere ([a-z-]+)", text):
            check([words, *(["x.dump"] if words == "dump" else [])])
    assert len(paths) >= 4
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", *paths],
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "notice"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "samehere" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_page_names_each_unit(unit: Path) -> None:
    assert unit.name in (ROOT / "docs" / "operations.md").read_text()
