"""Tiny reports, one for each way an attempt can end, with the expected answers of the command line.

A folder holds `script.py` or `report.md`, and `expected.json`: `options` of the command, `stable` (the part
of the answer that never varies), and `varies` (the parts that may differ from run to run).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from command_runs import Command, run_process

FOLDER = Path(__file__).parent
DEFAULT_OPTIONS = ["--target", "cpu", "--repeats", "1", "--wall", "10"]
SHOWN_CHARACTERS = 600


def mini_reports() -> list[Path]:
    """The folders, by name."""
    return sorted(path.parent for path in FOLDER.glob("*/*") if path.name in {"script.py", "report.md"})


def source_of(folder: Path) -> Path:
    """The file that is given to the command."""
    return next(path for path in (folder / "report.md", folder / "script.py") if path.exists())


def expectation(folder: Path) -> dict[str, Any]:
    """The folder's expected answer; empty if no answer was accepted yet."""
    path = folder / "expected.json"
    read: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return read


def run_mini(folder: Path, *, command: Command = run_process) -> dict[str, Any]:
    """Run the command on a mini report, and return the stable part of its answer."""
    expected = expectation(folder)
    options = expected.get("options", DEFAULT_OPTIONS)
    ended = command(["reproduce", str(source_of(folder)), "--json", *options])
    if not ended.stdout:
        return {"exit_status": ended.returncode, "stderr": ended.stderr}
    return stable_part(
        json.loads(ended.stdout), exit_status=ended.returncode, varies=expected.get("varies", [])
    )


def stable_part(document: Mapping[str, Any], *, exit_status: int, varies: list[str]) -> dict[str, Any]:
    """The part of a run object that is the same each time: no ids, times, sizes, paths or toolchain names."""
    return {
        "exit_status": exit_status,
        **{key: document[key] for key in ("verdict", "seen", "defect", "cause", "without_result")},
        "ask": [ask["code"] for ask in document["ask"]],
        "claim": [
            {key: check[key] for key in ("kind", "role")} for check in document["report"]["claim"]["checks"]
        ],
        "repairs": [
            [repair["code"] for repair in script["repairs"]] for script in document["report"]["scripts"]
        ],
        "jobs": [_job(job, varies) for job in document["jobs"]],
    }


def _job(job: Mapping[str, Any], varies: list[str]) -> dict[str, Any]:
    return {
        "target": {"device": job["target"]["device"], "settings": job["target"]["settings"]},
        **{key: job[key] for key in ("state", "verdict", "matched", "of")},
        "reason": job["reason"] and job["reason"]["code"],
        "checks": [check["result"] for check in job["checks"]],
        "attempts": [_attempt(attempt, varies) for attempt in job["attempts"]],
    }


def _attempt(attempt: Mapping[str, Any], varies: list[str]) -> dict[str, Any]:
    stable = {
        key: attempt[key]
        for key in ("state", "counted", "outcome", "exit_status", "signal", "exception", "truncated")
    }
    stable["reason"] = attempt["reason"] and attempt["reason"]["code"]
    stdout = attempt["stdout"]
    stable["stdout"] = stdout if len(stdout) <= SHOWN_CHARACTERS else stdout[:40] + "…"
    return {key: value for key, value in stable.items() if key not in varies}
