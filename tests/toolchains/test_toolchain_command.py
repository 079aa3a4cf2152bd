"""The command `samehere toolchain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_wheels import make_wheel

from worker.toolchains import ToolchainStore


def toolchain(
    store: ToolchainStore, *words: str, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SAMEHERE_TOOLCHAINS": str(store.root), **variables}
    command = [sys.executable, "-P", "-m", "worker", "toolchain", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, input=stdin, check=False)


def test_from_the_first_to_the_last_word(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    assert toolchain(store, "add", "a", "thing").stdout == "a is ready\n"
    lock = toolchain(store, "lock", "a").stdout
    assert "[[packages]]" in lock
    assert toolchain(store, "add", "b", "--lock", "-", "--no-build", stdin=lock).stdout == "b is locked\n"
    listed = json.loads(toolchain(store, "list", "--json").stdout)
    assert [(each["name"], each["state"], each["packages"], bool(each["python"])) for each in listed] == [
        ("a", "ready", {"thing": "1.0"}, True),
        ("b", "locked", {"thing": "1.0"}, False),
    ]
    assert toolchain(store, "build", "b").stdout == "b is ready\n"
    assert toolchain(store, "remove", "a", "b").returncode == 0
    pruned = json.loads(toolchain(store, "prune", "--unused-for", "0s", "--json").stdout)
    assert (pruned["environments"], pruned["names"]) == (1, [])
    assert json.loads(toolchain(store, "list", "--json").stdout) == []


@pytest.mark.parametrize(
    "words", ["a --python {minor} thing other", "--no-build a thing --python {minor} other", "a thing other"]
)
def test_options_stand_where_one_likes(words: str, store: ToolchainStore, wheels: Path) -> None:
    for name in ("thing", "other"):
        make_wheel(wheels, name)
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    process = toolchain(store, "add", *words.format(minor=minor).split())
    assert (process.stderr, process.returncode) == ("", 0)
    assert [facts.packages for facts in store.list()] == [{"thing": "1.0", "other": "1.0"}]


def test_what_can_not_be_is_said_on_one_line_or_in_the_resolvers(store: ToolchainStore, wheels: Path) -> None:
    for words, message in (
        (("add",), "name"),
        (("add", "x", "--nothing"), "--nothing"),
        (("add", "x"), "at least one requirement"),
        (("add", "x", "thing"), "thing"),
        (("add", "x", "thing", "--lock", "/nothing"), "either requirements or a lock"),
        (("add", "x", "--lock", "/nothing"), "can't be read"),
        (("lock", "x"), "x has no lock"),
        (("build", "nothing"), "no toolchain nothing"),
        (("prune", "--unused-for", "soon"), "such as 30d"),
    ):
        process = toolchain(store, *words)
        assert (process.returncode, message in process.stderr, "Traceback" in process.stderr) == (
            2,
            True,
            False,
        ), (
            words,
            process.stderr,
        )


def test_limits_are_settings(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    process = toolchain(store, "add", "x", "thing", SAMEHERE_TOOLCHAIN_SECONDS="0.001")
    assert (process.returncode, "0.001 seconds" in process.stderr) == (2, True)
    process = toolchain(store, "add", "x", "thing", SAMEHERE_TOOLCHAIN_BYTES="10")
    assert (process.returncode, "10 bytes" in process.stderr) == (2, True)
    assert toolchain(store, "list").stdout.split()[:2] == ["x", "failed"]
