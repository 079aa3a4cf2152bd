"""The doctor says what this machine can do, as JSON, and how to get more."""

from __future__ import annotations

import json
from pathlib import Path

from worker.contract import Level
from worker.sandbox import cgroup, doctor


def test_examination(sandbox_home: Path) -> None:
    found = doctor.examine(home=sandbox_home)
    text = json.loads(json.dumps(found.as_json()))
    assert text["level"] == (Level.NAMESPACES_CGROUP if cgroup.find().parents else Level.NAMESPACES)
    assert {check["name"] for check in text["checks"]} == {
        "kernel", "machine", "user", "bubblewrap", "memory", "cards", "namespaces", "cgroup", "attack from inside",
    }  # fmt: skip
    for check in found.checks:
        assert check.found
        assert check.ok or check.cure
    assert next(check for check in found.checks if check.name == "attack from inside").ok
