"""Several nodes on one service: they share a run; one is killed, one drains, one lacks a toolchain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chaos_service import CLAIM, SCRIPT, Whole, assert_thirty, eventually, one_job, processes, thirty_jobs
from running_service import service_environment

pytestmark = [pytest.mark.service, pytest.mark.sandbox]


class Second:
    """A second node with its own home."""

    def __init__(self, whole: Whole, home: Path) -> None:
        self.whole = whole
        # A new name: a killed node counts as alive by its name for some seconds.
        self.name = f"second-{uuid.uuid4().hex[:8]}"
        self.home = home
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, toolchains: Path | None = None, slots: int = 3) -> None:
        self.process = self.whole.start_node(self.name, self.home, toolchains=toolchains, slots=slots)

    def end(self, number: int) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        return self.process.wait(30)


@pytest.fixture
def second(whole: Whole, home: Path) -> Iterator[Second]:
    second = Second(whole, home)
    yield second
    if second.process is not None:
        second.end(signal.SIGKILL)


def _nodes_of(run: dict[str, Any]) -> Counter[str]:
    return Counter(
        attempt["node"]
        for job in run["jobs"]
        for attempt in job["attempts"]
        if attempt["outcome"] is not None
    )


def test_two_nodes_share_a_run_and_one_is_killed(whole: Whole, second: Second) -> None:
    second.start()
    run_id = whole.submit(thirty_jobs())
    assert eventually(
        lambda: min(_nodes_of(whole.run(run_id)).get(name, 0) for name in ("local", second.name)) >= 2,
        seconds=40,
    )
    second.end(signal.SIGKILL)
    run = assert_thirty(whole, run_id)
    assert set(_nodes_of(run)) == {"local", second.name}
    assert eventually(lambda: processes(second.home) == {}, seconds=60), processes(second.home)
    assert eventually(lambda: whole.nodes()[second.name] == "away", seconds=60)


def test_a_job_whose_node_is_killed_starts_again_on_another(whole: Whole, second: Second) -> None:
    """All counted attempts of a job are of one machine. Those of the lost node are shown and not counted."""
    second.start(slots=8)
    run_id = whole.submit(one_job(repeats=12))
    whole.until_recorded(run_id, 2)
    assert set(_nodes_of(whole.run(run_id))) == {second.name}
    second.end(signal.SIGKILL)
    run = whole.finished(run_id)
    assert run["verdict"] == "reproduced"
    (job,) = run["jobs"]
    assert (job["matched"], job["of"]) == (12, 12)
    counted = Counter(
        (attempt["node"], attempt["counted"])
        for attempt in job["attempts"]
        if attempt["outcome"] == "completed"
    )
    assert counted.pop(("local", True)) == 12
    assert set(counted) == {(second.name, False)}
    assert set(whole.recordings(run_id).values()) == {1}


def test_a_node_that_drains_loses_nothing(whole: Whole, second: Second) -> None:
    second.start()
    run_id = whole.submit(thirty_jobs())
    assert eventually(lambda: _nodes_of(whole.run(run_id)).get(second.name, 0) >= 2, seconds=40)
    assert second.end(signal.SIGTERM) == 0
    run = assert_thirty(whole, run_id)
    assert Counter(outcome for job in run["jobs"] for outcome in [a["outcome"] for a in job["attempts"]]) == {
        "completed": 30
    }
    assert processes(second.home) == {}
    assert list((second.home / "nodes" / second.name / "spool").iterdir()) == []


def test_a_node_without_the_toolchain_gets_none_of_the_run(
    whole: Whole, second: Second, tmp_path: Path
) -> None:
    empty = tmp_path / "toolchains"
    empty.mkdir()
    second.start(toolchains=empty)
    body = thirty_jobs()
    run = whole.finished(whole.submit({**body, "targets": body["targets"][:8]}))
    assert run["verdict"] == "reproduced"
    assert _nodes_of(run) == {"local": 8}


def test_a_toolchain_that_is_removed_while_it_is_wanted(whole: Whole, second: Second) -> None:
    """The node reports the missing toolchain. The run ends and says who can act."""
    own = second.home / "toolchains"
    own.mkdir(mode=0o755)
    environment = {**service_environment(second.home), "SAMEHERE_TOOLCHAINS": str(own)}
    worker = [sys.executable, "-P", "-m", "worker", "toolchain"]
    subprocess.run(
        [*worker, "adopt", "rare", "--python", sys.executable],
        env=environment,
        check=True,
        capture_output=True,
    )
    second.start(toolchains=own)
    body = {
        "script": SCRIPT,
        "claim": CLAIM,
        "targets": [{"device": "cpu", "toolchain": "rare"}],
        "repeats": 10,
    }
    run_id = whole.submit(body)
    whole.until_recorded(run_id, 1)
    subprocess.run([*worker, "remove", "rare"], env=environment, check=True, capture_output=True)
    run = whole.finished(run_id, seconds=60)
    assert run["verdict"] in {"reproduced", "no_result"}, run["summary"]
    outcomes = Counter(attempt["outcome"] for attempt in run["jobs"][0]["attempts"])
    assert set(outcomes) <= {"completed", "setup_failed", "lost"}, outcomes
    assert set(whole.recordings(run_id).values()) == {1}
