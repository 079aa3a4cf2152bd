"""Presets and patterns on the command line, without a service: lists, refusals, and plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import bare_environment, samehere
from running_command import run_here
from running_service import service_environment

from app.ids import new_id
from app.targets.planning.presets import PRESETS

COMMANDS = ("presets", "cancel", "rerun", "add-cell", "reproduce")


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text("# Claim: ValueError: the bug\nraise ValueError('the bug')\n")
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(home: Path, command: str) -> None:
    ended = run_here(command, "--help", environment=bare_environment(home))
    assert ended.returncode == 0
    assert f"Example: samehere {command}" in " ".join(ended.stdout.split())
    assert "--json" in ended.stdout


def test_the_presets_are_listed(home: Path) -> None:
    ended = run_here("presets", environment=bare_environment(home))
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(PRESETS)
    own = home / "own.toml"
    own.write_text("[presets.mine]\n")
    items = json.loads(
        run_here(
            "presets", "--json", environment={**bare_environment(home), "SAMEHERE_PRESETS": str(own)}
        ).stdout
    )
    assert [item["name"] for item in items if item["own"]] == ["mine"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("reproduce", "FILE", "--exclude", "gpu"), "not a pattern"),
        (("reproduce", "FILE", "--include", "cpu:*"), "each setting needs a value"),
        (("reproduce", "FILE", "--preset", "nix"), "full"),
        (("reproduce", "FILE", "--dry-run", "--bundle", "b.json"), "runs nothing"),
        (("reproduce", "FILE", "--environment", "numpy"), "NAME=VALUE"),
        (("reproduce", "FILE", "--environment", "weather=rain"), "no such field"),
        (("rerun", "x"), "26 characters"),
        (("cancel", new_id(), "--cell", "x"), "26 characters"),
        (("add-cell", new_id(), "tpu"), "no such device"),
        (("rerun", new_id(), "--which", "some"), "undecided"),
    ],
)
def test_what_cannot_be_meant_is_refused(home: Path, script: str, words: tuple[str, ...], says: str) -> None:
    ended = run_here(
        *(script if word == "FILE" else word for word in words), environment=bare_environment(home)
    )
    assert ended.returncode == 2, ended
    assert says in " ".join(ended.stderr.replace("│", " ").split())
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("content", "says"), [(None, "can't be read"), ("[presets.quick]", "already"), ("\udcff", "UTF-8")]
)
def test_a_file_of_presets_that_cannot_be_used(
    home: Path, script: str, content: str | None, says: str
) -> None:
    own = home / "own.toml"
    if content is not None:
        own.write_bytes(content.encode(errors="surrogateescape"))
    ended = run_here(
        "reproduce",
        script,
        "--preset",
        "quick",
        environment={**bare_environment(home), "SAMEHERE_PRESETS": str(own)},
    )
    assert ended.returncode == 2
    assert says in " ".join(ended.stderr.split())


@pytest.mark.sandbox
@pytest.mark.usefixtures("toolchain")
def test_a_dry_run_says_what_would_run_here_and_runs_nothing(home: Path, script: str) -> None:
    words = (
        "reproduce",
        script,
        "--target",
        "cpu",
        "--target",
        "cuda",
        "--include",
        "cpu:threads=1",
        "--exclude",
        "*:seed=*",
        "--environment",
        "os.name=Windows 11",
        "--dry-run",
    )
    ended = run_here(*words, environment=service_environment(home))
    assert ended.returncode == 0, ended
    text = " ".join(ended.stdout.split())
    assert "not served: No node has an NVIDIA GPU." in text
    assert "3 cells, 1 of them served by no node." in text
    assert "2 to 40 attempts" in text
    assert "The times are a guess" in text
    assert "exclude *:seed=* leaves out 0 cells." in text
    document = json.loads(run_here(*words, "--json", environment=service_environment(home)).stdout)
    assert [job["attempts"] for job in document["jobs"]] == [[], [], []]
    assert document["report"]["environment"] == {"os.name": "Windows 11"}
    assert (
        document["estimate"]["machine_seconds"]["at_most"]
        > document["estimate"]["machine_seconds"]["at_least"]
    )


def test_the_list_of_commands_has_each_in_whole_words(home: Path) -> None:
    ended = samehere("--help", environment=bare_environment(home))
    assert ended.returncode == 0
    assert "add-cell" in ended.stdout
    assert "..." not in ended.stdout.partition("Commands:")[2]
