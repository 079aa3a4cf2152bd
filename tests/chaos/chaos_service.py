"""A whole service with short leases. Tests use it over REST and kill its parts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
from running_service import Service, service_environment, start_service, stop_service

TOOLCHAIN = "plain"
# Quick, without torch, and long enough to be killed in the middle.
SCRIPT = "import time\ntime.sleep(0.2)\nprint('value', 3)\n"
CLAIM = "prints `value 3`"
LEASE_SECONDS = 4.0
VARIABLES = {
    "SAMEHERE_LEASE_SECONDS": str(LEASE_SECONDS),
    "SAMEHERE_HEARTBEAT_SECONDS": "1",
    "SAMEHERE_SWEEP_SECONDS": "1",
    "SAMEHERE_HELLO_SECONDS": "3",
    "SAMEHERE_SLOTS": "3",
}
RUN_SECONDS = 90.0


def eventually(condition: Callable[[], bool], *, seconds: float, step: float = 0.1) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step)
    return True


def processes(home: Path) -> dict[int, str]:
    """The processes of a home, told by their environment, arguments or working folder."""
    found = {}
    for process in psutil.process_iter():
        try:
            argv = process.cmdline()
            if (
                process.environ().get("SAMEHERE_HOME") == str(home)
                or any(str(home) in word for word in argv)
                or str(home) in process.cwd()
            ):
                found[process.pid] = " ".join(argv)
        except psutil.Error:
            continue
    found.pop(os.getpid(), None)
    return found


def thirty_jobs(**more: Any) -> dict[str, Any]:
    """A run of thirty cells of one attempt each."""
    targets = [
        {"device": "cpu", "toolchain": TOOLCHAIN, "settings": {"threads": str(count)}}
        for count in range(1, 31)
    ]
    return {"script": SCRIPT, "claim": CLAIM, "targets": targets, "repeats": 1} | more


def one_job(**more: Any) -> dict[str, Any]:
    """A run of one cell of thirty attempts."""
    return {
        "script": SCRIPT,
        "claim": CLAIM,
        "targets": [{"device": "cpu", "toolchain": TOOLCHAIN}],
        "repeats": 30,
    } | more


def variables(toolchains: Path, **more: str) -> dict[str, str]:
    return {**VARIABLES, "SAMEHERE_TOOLCHAINS": str(toolchains), **more}


@dataclass(slots=True)
class Whole:
    """A service that is started again on the same home after it was killed."""

    home: Path
    toolchains: Path
    options: tuple[str, ...] = ()
    more: dict[str, str] = field(default_factory=dict)
    service: Service | None = None

    def start(self) -> None:
        self.service = start_service(
            self.home, *self.options, environment=variables(self.toolchains, **self.more)
        )

    def stop(self) -> int:
        return 0 if self.service is None else stop_service(self.service)

    @property
    def url(self) -> str:
        assert self.service is not None
        return self.service.url

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return httpx2.request(method, f"{self.url}{path}", timeout=30, trust_env=False, **options)

    def submit(self, body: dict[str, Any], *, key: str | None = None) -> str:
        answer = self.request(
            "POST", "/api/v1/runs", json=body, headers={} if key is None else {"Idempotency-Key": key}
        )
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        """The run object. Waits while the service starts again."""
        answer: list[httpx2.Response] = []

        def answered() -> bool:
            try:
                answer[:] = [self.request("GET", f"/api/v1/runs/{run_id}")]
            except httpx2.TransportError:
                return False
            return answer[0].status_code == 200

        assert eventually(answered, seconds=40), [each.text for each in answer]
        document: dict[str, Any] = answer[0].json()
        return document

    def recorded(self, run_id: str) -> int:
        return sum(
            attempt["outcome"] is not None for job in self.run(run_id)["jobs"] for attempt in job["attempts"]
        )

    def until_recorded(self, run_id: str, count: int) -> None:
        assert eventually(lambda: self.recorded(run_id) >= count, seconds=60), self.state_of(run_id)

    def finished(self, run_id: str, *, seconds: float = RUN_SECONDS) -> dict[str, Any]:
        assert eventually(lambda: self.run(run_id)["state"] == "finished", seconds=seconds, step=0.3), (
            self.state_of(run_id)
        )
        return self.run(run_id)

    def state_of(self, run_id: str) -> str:
        """The text of the error when a test has waited in vain."""
        run = self.run(run_id)
        states = Counter(
            (job["state"], attempt["outcome"]) for job in run["jobs"] for attempt in job["attempts"]
        )
        log = "" if self.service is None else self.service.log.read_text(errors="replace")[-4000:]
        return f"{run['state']} {dict(states)}\n{log}"

    def recordings(self, run_id: str) -> Counter[str]:
        """The number of times that each attempt was recorded, counted from the events of the run."""
        events = self.request("GET", f"/api/v1/runs/{run_id}/events", headers={"Last-Event-ID": "0"}).text
        found: Counter[str] = Counter()
        for block in events.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if lines.get("event") == "attempt.recorded":
                found[lines["data"]] += 1
        return found

    def pids(self, words: str) -> list[int]:
        return [pid for pid, command in processes(self.home).items() if words in command]

    def kill(self, words: str) -> None:
        """Kill -9 the oldest process whose command has these words; the others are its children."""
        found = self.pids(words)
        assert found, f"nothing here runs {words}: {processes(self.home)}"
        os.kill(min(found, key=lambda pid: psutil.Process(pid).create_time()), signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill -9 the supervisor, wait until nothing is left, start again."""
        assert self.service is not None
        self.service.process.kill()
        self.service.process.wait()
        assert eventually(lambda: processes(self.home) == {}, seconds=60), processes(self.home)
        self.start()

    def broker_url(self) -> str:
        """The broker URL that the service prints for operators who want another node."""
        assert self.service is not None
        said: list[str] = re.findall(r"SAMEHERE_BROKER_URL=(\S+)", self.service.log.read_text())
        return said[-1]

    def nodes(self) -> dict[str, str]:
        return {node["name"]: node["state"] for node in self.request("GET", "/api/v1/nodes").json()["items"]}

    def start_node(
        self, name: str, home: Path, *, toolchains: Path | None = None, slots: int = 3
    ) -> subprocess.Popen[bytes]:
        """Start another node with its own home. Returns when the service knows it."""
        environment = {
            **service_environment(home),
            **variables(toolchains or self.toolchains),
            "SAMEHERE_BROKER_URL": self.broker_url(),
        }
        with (home / f"{name}.log").open("ab") as log:
            argv = [sys.executable, "-P", "-m", "app.cli", "node", "--name", name, "--slots", str(slots)]
            node = subprocess.Popen(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert eventually(lambda: self.nodes().get(name) == "ready", seconds=30), (
            home / f"{name}.log"
        ).read_text()
        return node


def assert_thirty(whole: Whole, run_id: str) -> dict[str, Any]:
    """Assert that there are thirty results, none twice, and a verdict."""
    run = whole.finished(run_id)
    attempts = [attempt for job in run["jobs"] for attempt in job["attempts"]]
    counted = [attempt for attempt in attempts if attempt["outcome"] == "completed"]
    assert len(counted) == 30, Counter(attempt["outcome"] for attempt in attempts)
    assert len({attempt["id"] for attempt in counted}) == 30
    recordings = whole.recordings(run_id)
    assert set(recordings.values()) == {1}
    assert len(recordings) == len(attempts)
    assert run["verdict"] == "reproduced", run["summary"]
    assert run["without_result"] == 0
    assert sum(job["of"] for job in run["jobs"]) == 30
    return run
