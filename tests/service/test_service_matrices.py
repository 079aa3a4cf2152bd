"""A whole service with a real node: a plan, queue positions, cells that are cancelled, rerun and added.

And the gate that runs a report before it answers, from the command line and as the Action.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cli.command_line import ROOT, samehere
from cli.workflow_runner import SAMEHERE, Runner, read_action
from running_command import run_here
from running_service import Service, start_service, stop_service

pytestmark = [pytest.mark.service, pytest.mark.timeout(280)]
FAILS = "raise ValueError('the bug')\n"
CLAIM = "ValueError: the bug"
# Sleeps with one setting, so that one of two cells can be cancelled while it runs.
STAYS = (
    "import os, time\nif os.environ.get('OMP_NUM_THREADS') == '1':\n"
    "    time.sleep(12)\nraise ValueError('the bug')\n"
)
SECONDS = 120


def ask(service: Service, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    with httpx2.Client(base_url=service.url, timeout=30) as client:
        answer = client.get(f"/api/v1{path}") if body is None else client.post(f"/api/v1{path}", json=body)
    assert answer.status_code < 300, answer.text
    return dict(answer.json())


def until(service: Service, run_id: str, reached: Any) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while True:
        run = ask(service, f"/runs/{run_id}")
        if reached(run):
            return run
        assert time.monotonic() < deadline, run
        time.sleep(0.3)


def is_over(run: dict[str, Any]) -> bool:
    return run["state"] in {"finished", "cancelled"}


def until_no_run_is_open(service: Service) -> None:
    deadline = time.monotonic() + SECONDS
    while not all(is_over(run) for run in ask(service, "/runs?limit=200")["items"]):
        assert time.monotonic() < deadline
        time.sleep(0.3)


def command(service: Service, *words: str) -> dict[str, Any]:
    ended = run_here(*words, "--server", service.url, "--json", environment=service.environment)
    assert ended.returncode == 0, ended
    return dict(json.loads(ended.stdout))


def test_a_cell_is_stopped_while_it_runs_and_run_again(service: Service) -> None:
    targets = [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}]
    run = ask(service, "/runs", {"script": STAYS, "claim": CLAIM, "repeats": 1, "targets": targets})
    slow = run["jobs"][1]["id"]
    until(
        service,
        run["id"],
        lambda now: any(attempt["state"] == "running" for attempt in now["jobs"][1]["attempts"]),
    )
    stopped = command(service, "cancel", run["id"], "--cell", slow)
    assert [job["state"] for job in stopped["jobs"]][1] == "cancelled"
    ended = until(service, run["id"], is_over)
    assert (ended["state"], ended["verdict"], ended["without_result"]) == ("finished", "reproduced", 1)
    # The node stops the attempt within two seconds.
    until(
        service,
        run["id"],
        lambda now: all(attempt["state"] != "running" for attempt in now["jobs"][1]["attempts"]),
    )
    again = command(service, "rerun", run["id"], "--which", "failed")
    assert again["state"] == "running"
    done = until(service, run["id"], is_over)
    assert [job["verdict"] for job in done["jobs"]] == ["reproduced", "reproduced"], done["jobs"][1]
    assert len(done["jobs"][1]["attempts"]) > 1


def test_a_plan_a_missing_cell_and_all_again(service: Service, home: Path) -> None:
    path = home / "script.py"
    path.write_text(FAILS)
    words = (
        "reproduce",
        str(path),
        "--claim",
        CLAIM,
        "--include",
        "cpu:threads=1",
        "--exclude",
        "cuda",
        "--repeats",
        "2",
    )
    plan = command(service, *words, "--dry-run")
    assert [job["target"]["settings"] for job in plan["jobs"]] == [{}, {"threads": "1"}]
    assert (plan["estimate"]["attempts_at_most"], plan["estimate"]["left_out"]) == (
        4,
        [{"exclude": "cuda", "cells": 0}],
    )
    done = command(service, *words)
    assert (done["verdict"], len(done["jobs"])) == ("reproduced", 2)
    assert command(service, *words, "--dry-run")["estimate"]["basis"] == "measured"
    added = command(service, "add-cell", done["id"], "cpu:seed=3")
    assert (added["state"], len(added["jobs"])) == ("running", 3)
    whole = until(service, done["id"], is_over)
    assert (whole["verdict"], {job["verdict"] for job in whole["jobs"]}) == ("reproduced", {"reproduced"})
    anew = command(service, "rerun", done["id"], "--which", "all")
    assert (anew["id"] != done["id"], anew["report"]["id"], len(anew["jobs"])) == (
        True,
        done["report"]["id"],
        3,
    )
    assert until(service, anew["id"], is_over)["verdict"] == "reproduced"


def test_a_crowd_waits_in_line_and_each_cell_knows_its_place(service: Service) -> None:
    # Cells that differ in their seed have one environment, which is recorded once.
    settings = [{"seed": number} for number in range(1, 9)]
    body = {"script": "import time\ntime.sleep(0.5)\n" + FAILS, "claim": CLAIM, "repeats": 1}
    # Cells of other runs take turns with these, and would be counted among them.
    until_no_run_is_open(service)
    run = ask(service, "/runs", {**body, "targets": [{"settings": each} for each in settings]})
    places = [job["waiting"]["position"] for job in run["jobs"]]
    assert places == list(range(places[0], places[0] + 8))
    assert all(job["waiting"]["starts_in"]["at_most"] is not None for job in run["jobs"])
    later = until(
        service, run["id"], lambda now: 0 < sum(job["waiting"] is not None for job in now["jobs"]) < 7
    )
    left = [job["waiting"]["position"] for job in later["jobs"] if job["waiting"]]
    assert left == list(range(1, len(left) + 1))
    assert until(service, run["id"], is_over)["verdict"] == "reproduced"


def test_a_file_of_presets_that_cannot_be_used_stops_the_start(home: Path, toolchain: str) -> None:
    path = home / "presets.toml"
    path.write_text("[presets.nightly]\nsettings = ['sped=1']\n")
    ended = samehere(
        "serve", "--port", "0", environment={**_environment(home), "SAMEHERE_PRESETS": str(path)}
    )
    assert ended.returncode == 2
    assert "presets.nightly.settings[0]" in " ".join(ended.stderr.split())


def _environment(home: Path) -> dict[str, str]:
    from running_service import service_environment

    return service_environment(home)


def test_presets_of_ones_own_are_the_services_and_the_command_lines(home: Path, toolchain: str) -> None:
    path = home / "presets.toml"
    path.write_text(
        '[presets.nightly]\nsummary = "Each night."\ndevices = ["cpu"]\n'
        'settings = ["", "threads=1"]\nrepeats = 3\n'
    )
    path.chmod(0o644)
    # Nothing runs here, so no interpreter has to wait with torch imported.
    environment = {**_environment(home), "SAMEHERE_PRESETS": str(path), "SAMEHERE_WARM": "false"}
    running = start_service(home, environment=environment)
    try:
        assert [item["name"] for item in ask(running, "/presets")["items"]][-1] == "nightly"
        plan = ask(running, "/runs?dry_run=1", {"script": FAILS, "claim": CLAIM, "preset": "nightly"})
        assert [job["target"]["settings"] for job in plan["jobs"]] == [{}, {"threads": "1"}]
    finally:
        stop_service(running)
    listed = run_here("presets", "--json", environment=environment)
    assert {item["name"] for item in json.loads(listed.stdout)} >= {"quick", "nightly"}
    script = home / "script.py"
    script.write_text(FAILS)
    local = run_here("reproduce", str(script), "--preset", "nightly", "--dry-run", environment=environment)
    assert local.returncode == 0, local
    assert "cpu@" in local.stdout
    assert "2 cells." in local.stdout


def test_the_gate_runs_what_was_not_run_and_then_answers(service: Service, home: Path) -> None:
    """A stale bot asks about an issue whose only run was cancelled. It happens, so it stays open."""
    issue = "https://github.com/octocat/stale/issues/12"
    sent = {"script": f"{FAILS}# of an issue\n", "claim": CLAIM, "repeats": 1, "source_url": issue}
    run = ask(service, "/runs", sent | {"awaited": False})
    ask(service, f"/runs/{run['id']}/cancel", {})
    words = ("gate", "octocat/stale#12", "--server", service.url, "--json")
    before = samehere(*words, environment=service.environment)
    assert before.returncode == 5, before.stderr
    [answer] = json.loads(before.stdout)["items"]
    assert (answer["answer"], answer["may_close"]) == ("unknown", False)
    after = samehere(*words, "--run", environment=service.environment)
    assert after.returncode == 4, after.stderr
    [answer] = json.loads(after.stdout)["items"]
    assert (answer["answer"], answer["verdict"]) == ("still_happens", "reproduced")
    assert answer["words"].endswith("run of today.")
    assert answer["run"] != run["id"]
    assert ask(service, f"/runs/{answer['run']}")["verdict"] == "reproduced"
    # Once more, as the Action: its run is of today, so nothing is run again.
    folder = home / "work"
    folder.mkdir()
    inputs = {"issues": f"{issue}\noctocat/other#1", "file": "", "server": service.url, "token": ""}
    gate = Runner(read_action(ROOT / "gate"), folder, service.environment, inputs | {"run": "true"})
    gate.inputs |= {"samehere": SAMEHERE, "python": "python3"}
    assert set(gate.run().values()) == {0}, gate.log
    assert gate.results["may-close"] == "[]"
    [still] = json.loads(gate.results["still-happens"])
    assert (still["issue"], still["words"]) == (issue, answer["words"])
    runs = ask(service, f"/reports/{answer['report']}")["runs"]
    assert len(runs) == 2
