"""How long a restart of a node delays the jobs that wait for it.

    .venv/bin/python bench/node_restart.py [--rounds 10] [--out bench/results/node_restart.json]

Some short jobs are submitted to a service with one node. While the first ones run, the node is asked to end
(SIGTERM) or killed (SIGKILL), and is started again at once under its name. The figure is the time from the
first heartbeat of the new start to the end of the last job; beside it stands how much later that is than the
time that these jobs take undisturbed. No job may end more than 3 s after the node is ready. The bench starts
its own service in a temporary home.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import redis
from main_path import database_url, keep, machine, spread, start_service

from app.embedded.valkey import EmbeddedValkey
from worker.contract.broker.url import redis_url
from worker.contract.names import heartbeat_key

NODE = "restarted"
TOOLCHAIN = "plain"
SCRIPT = "import time\ntime.sleep(0.3)\nprint('value', {number})\n"
JOBS = 8
MOST_SECONDS = 3.0


def adopt(folder: Path, home: Path) -> None:
    """Make a folder with one toolchain that starts fast: the interpreter of this bench."""
    folder.mkdir(mode=0o755)
    variables = {"SAMEHERE_HOME": str(home), "SAMEHERE_TOOLCHAINS": str(folder)}
    subprocess.run(
        [sys.executable, "-P", "-m", "worker", "toolchain", "adopt", TOOLCHAIN, "--python", sys.executable],
        env=os.environ | variables,
        check=True,
        capture_output=True,
    )


class RestartedNode:
    """A node of the service in `home` that is ended and started again under its name."""

    def __init__(self, home: Path, toolchains: Path, broker_url: str) -> None:
        self._home = home
        self._variables = {
            "SAMEHERE_HOME": str(home / "node"),
            "SAMEHERE_LOCKS": str(home / "locks"),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_BROKER_URL": broker_url,
            "SAMEHERE_SLOTS": "2",
        }
        self._broker = redis.Redis.from_url(redis_url(broker_url))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when its heartbeat is on the broker."""
        before = self._heartbeat()
        with (self._home / "node.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "worker", "node", "--name", NODE],
                env=os.environ | self._variables,
                stdout=log,
                stderr=log,
            )
        while self._heartbeat() in {None, before}:
            if self._process.poll() is not None:
                sys.exit((self._home / "node.log").read_text()[-3000:])
            time.sleep(0.02)

    def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the end."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=60)

    def _heartbeat(self) -> str | None:
        """The instance in the heartbeat, None without one."""
        value = self._broker.get(heartbeat_key(NODE))
        return None if value is None else str(value).partition('"instance":"')[2].partition('"')[0]


@contextmanager
def service(folder: Path, **variables: str) -> Iterator[tuple[str, RestartedNode]]:
    """A service whose only useful node is ours."""
    toolchains, empty = folder / "toolchains", folder / "no-toolchains"
    adopt(toolchains, folder)
    empty.mkdir(mode=0o755)
    process, url = start_service(folder, empty, **variables)
    broker_url = EmbeddedValkey(folder).attach()
    node = RestartedNode(folder, toolchains, str(broker_url))
    try:
        node.start()
        # The heartbeat is there before the hello is recorded.
        while NODE not in [each["name"] for each in httpx2.get(f"{url}/api/v1/nodes").json()["items"]]:
            time.sleep(0.1)
        yield url, node
        node.end(signal.SIGTERM)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def submit(client: httpx2.Client, count: int, offset: int) -> list[str]:
    """Submit runs of one attempt each, with scripts that differ. Their ids."""
    ids = []
    for number in range(offset, offset + count):
        body = {
            "script": SCRIPT.format(number=number),
            "targets": [{"device": "cpu", "toolchain": TOOLCHAIN}],
            "repeats": 1,
        }
        answer = client.post("/api/v1/runs", json=body)
        answer.raise_for_status()
        ids.append(answer.json()["id"])
    return ids


def await_end(database: psycopg.Connection[Any], run_ids: list[str], *, seconds: float = 120) -> float:
    """The time of the database's clock at which the last attempt of these runs was recorded."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, last = database.execute(
            "SELECT count(*), extract(epoch FROM max(recorded_at)) FROM attempt"
            " WHERE run_id = ANY(%s) AND outcome = 'completed'",
            (run_ids,),
        ).fetchone() or (0, 0)
        if done == len(run_ids):
            return float(last)
        time.sleep(0.05)
    states = database.execute(
        "SELECT state, outcome, lease_no, node, count(*) FROM attempt WHERE run_id = ANY(%s)"
        " GROUP BY 1, 2, 3, 4",
        (run_ids,),
    ).fetchall()
    sys.exit(f"only {done} of {len(run_ids)} jobs have a result after {seconds} s: {states}")


def measure(rounds: int) -> dict[str, Any]:
    late: dict[str, list[float]] = {"SIGTERM": [], "SIGKILL": []}
    undisturbed: list[float] = []
    number = 0
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            service(folder) as (url, node),
            httpx2.Client(base_url=url, timeout=60) as client,
            psycopg.connect(database_url(folder), autocommit=True) as database,
        ):
            await_end(database, submit(client, JOBS, -JOBS))
            for _ in range(rounds):
                began = time.time()
                run_ids = submit(client, JOBS, number)
                undisturbed.append(await_end(database, run_ids) - began)
                number += JOBS
                for kind in (signal.SIGTERM, signal.SIGKILL):
                    run_ids = submit(client, JOBS, number)
                    number += JOBS
                    node.end(kind)
                    node.start()
                    ready = time.time()
                    late[kind.name].append(await_end(database, run_ids) - ready)
                    print(f"{kind.name}: {late[kind.name][-1]:.2f} s", flush=True)
    usual = statistics.median(undisturbed)
    later = {kind: [seconds - usual for seconds in each] for kind, each in late.items()}
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "jobs": JOBS,
        "undisturbed_seconds": spread(undisturbed),
        "after_ready_seconds": late,
        "later_than_undisturbed_seconds": {kind: spread(each) for kind, each in later.items()},
        "most_after_ready_seconds": max(seconds for each in late.values() for seconds in each),
        "limit_seconds": MOST_SECONDS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("bench/results/node_restart.json"))
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    keep(result, arguments.out)
    if result["most_after_ready_seconds"] > MOST_SECONDS:
        sys.exit(f"a job ended more than {MOST_SECONDS} s after the node was ready")


if __name__ == "__main__":
    main()
