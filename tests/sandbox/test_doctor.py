"""The doctor's answer for each kind of machine: the level, why it is not higher, and how to raise it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sandbox_runner import AS_ROOT
from situations import NO_CGROUP, NO_USER_NAMESPACES, STOCK_CONTAINER, examine

from worker.contract import Level
from worker.sandbox import doctor
from worker.sandbox.resources import cgroup

root_only = pytest.mark.skipif(not AS_ROOT, reason="only root becomes another kind of user or machine")
NAMES = [
    *(
        "kernel",
        "machine",
        "user",
        "bubblewrap",
        "landlock",
        "memory",
        "cards",
        "namespaces",
        "cgroup",
        "attack from inside",
        "card at the first touch",
    ),
]


def _check(examination: dict[str, Any], name: str) -> dict[str, Any]:
    check = next(check for check in examination["checks"] if check["name"] == name)
    assert isinstance(check, dict)
    return check


def test_examination(sandbox_home: Path) -> None:
    examination = doctor.examine(home=sandbox_home)
    text = json.loads(json.dumps(examination.as_json()))
    assert text["level"] == (Level.NAMESPACES_CGROUP if cgroup.find().parents else Level.NAMESPACES)
    assert [check["name"] for check in text["checks"]] == NAMES
    for check in examination.checks:
        assert check.found
        assert check.ok or check.cure
    assert next(check for check in examination.checks if check.name == "attack from inside").ok


@pytest.mark.skipif(not AS_ROOT or cgroup.find().parents is None, reason="root with a cgroup")
def test_as_root_all_of_it_is_had(sandbox_home: Path) -> None:
    """The control of the four tests below: without their restriction, nothing is missing."""
    examination = examine("", sandbox_home)
    assert (examination["level"], examination["more"]) == (Level.NAMESPACES_CGROUP, "")
    assert "root" in _check(examination, "user")["found"]
    assert [check for check in examination["checks"] if not check["ok"]] == []


@root_only
def test_as_a_plain_user_only_the_cgroup_is_missing(sandbox_home: Path) -> None:
    examination = examine("", sandbox_home, as_plain_user=True)
    assert examination["level"] == Level.NAMESPACES
    assert "polling" in examination["means"]
    assert "systemd-run --user --scope -p Delegate=yes" in examination["more"]
    assert "all slots share it" in _check(examination, "user")["found"]
    assert [check["name"] for check in examination["checks"] if not check["ok"]] == ["cgroup"]


@root_only
def test_without_user_namespaces_it_names_the_setting_and_the_weaker_level(sandbox_home: Path) -> None:
    examination = examine(NO_USER_NAMESPACES, sandbox_home, as_plain_user=True)
    assert examination["level"] == Level.LANDLOCK
    assert "used only if you name it" in examination["means"]
    assert "sysctl -w user.max_user_namespaces" in examination["more"]
    assert "--isolation landlock+seccomp" in examination["more"]
    assert (_check(examination, "namespaces")["ok"], _check(examination, "attack from inside")["ok"]) == (
        False,
        True,
    )
    named = examine(NO_USER_NAMESPACES, sandbox_home, named="landlock+seccomp", as_plain_user=True)
    assert (named["level"], _check(named, "namespaces")["ok"]) == (Level.LANDLOCK, True)


@root_only
def test_in_a_stock_container_it_names_the_options_of_the_container(sandbox_home: Path) -> None:
    examination = examine(STOCK_CONTAINER, sandbox_home)
    assert examination["level"] == Level.LANDLOCK
    for words in (
        "looks like a container",
        "seccomp=unconfined",
        "systempaths=unconfined",
        "--isolation landlock+seccomp",
    ):
        assert words in examination["more"]
    assert "sysctl" not in examination["more"]
    assert "can't create a mount namespace" in _check(examination, "user")["found"]
    assert [check["name"] for check in examination["checks"] if not check["ok"]] == ["namespaces", "cgroup"]


@root_only
def test_without_a_cgroup_memory_is_polled_and_it_says_how_to_get_one(sandbox_home: Path) -> None:
    examination = examine(NO_CGROUP, sandbox_home)
    assert examination["level"] == Level.NAMESPACES
    assert "no cgroup file system is mounted" in examination["more"]
    assert "writable-cgroups=true" in examination["more"]
    assert [check["name"] for check in examination["checks"] if not check["ok"]] == ["cgroup"]


def test_a_level_that_was_named_and_cannot_be_had(sandbox_home: Path) -> None:
    if not AS_ROOT:
        pytest.skip("only root takes the cgroups away")
    examination = examine(NO_CGROUP, sandbox_home, named="ns+seccomp+cgroup")
    assert examination["level"] == Level.NAMESPACES
    assert "no cgroup for each job" in examination["more"]
