"""A thousand short jobs while every process of the service is killed in turn, and the broker loses its data.

    .venv/bin/python bench/chaos.py [--jobs 1000] [--out bench/results/chaos.json]

First some jobs run undisturbed; they give the usual rate. Then runs of 20 jobs are submitted, each with an
idempotency key and again until it is accepted. Every 10 s one process is killed with SIGKILL: the node, the
recorder, the web, beat, the broker and the database, in turn. After a third and after two thirds of the jobs
the broker's data are wiped instead, and after half of them Postgres is restarted.

The delay of a disturbance is the time until the next one, less the time that the jobs of this stretch take
at the usual rate. There must be one result for each job and none twice, and the whole may take at most 5 s a
kill and 40 s a wipe longer than undisturbed. The bench starts its own service in a temporary home; the
supervisor itself is not killed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg
import redis
from main_path import database_url, keep, machine, start_service
from node_restart import TOOLCHAIN, adopt

from app.embedded.valkey import EmbeddedValkey
from worker.contract.broker.url import redis_url

SCRIPT = "import time\ntime.sleep(0.4)\nprint('value', {number})\n"
JOBS_OF_A_RUN = 20
KILL_EVERY_SECONDS = 10.0
WIPE_SECONDS, KILL_SECONDS = 40.0, 5.0
# Words of the command of each process.
PARTS = {
    "node": "worker node",
    "recorder": "app.tasks worker",
    "web": "app.serve.web",
    "beat": "app.tasks beat",
    "broker": "valkey-server",
    "database": "bin/postgres",
}


@dataclass(slots=True)
class Disturbance:
    """What was done to the service, when, and how many jobs had a result then."""

    name: str
    at: float
    done: int


class Database:
    """Questions to the database of the service. It connects again after each loss."""

    def __init__(self, home: Path) -> None:
        self._url = database_url(home)
        self._connection: psycopg.Connection[Any] | None = None

    def ask(self, query: str) -> list[Any]:
        while True:
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
                return self._connection.execute(query).fetchall()
            except psycopg.Error:
                self._connection = None
                time.sleep(0.2)

    def count_done(self) -> int:
        """The number of jobs with a result."""
        return int(self.ask("SELECT count(*) FROM attempt WHERE outcome = 'completed'")[0][0])


def submit_run(url: str, number: int) -> None:
    """Submit a run of `JOBS_OF_A_RUN` cells of one attempt, again and again until it is accepted."""
    body = {
        "script": SCRIPT.format(number=number),
        "targets": [
            {"device": "cpu", "toolchain": TOOLCHAIN, "settings": {"threads": str(count + 1)}}
            for count in range(JOBS_OF_A_RUN)
        ],
        "repeats": 1,
    }
    while True:
        try:
            answer = httpx2.post(
                f"{url}/api/v1/runs", json=body, headers={"Idempotency-Key": f"chaos-{number}"}, timeout=30
            )
        except httpx2.HTTPError:
            time.sleep(0.3)
            continue
        if answer.status_code == 202:
            return
        if answer.status_code < 500:
            sys.exit(answer.text)
        time.sleep(0.3)


def find(service: subprocess.Popen[bytes], part: str) -> psutil.Process | None:
    """The oldest process of a part; the others are its children."""
    found = []
    for process in psutil.Process(service.pid).children(recursive=True):
        try:
            if PARTS[part] in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return min(found, key=lambda process: process.create_time(), default=None)


class Chaos:
    """Disturbs one service, and notes what it did."""

    def __init__(self, service: subprocess.Popen[bytes], home: Path, jobs: int) -> None:
        self._service = service
        self._broker_url = redis_url(str(EmbeddedValkey(home).attach()))
        self.database = Database(home)
        self.disturbances: list[Disturbance] = []
        # The number of results at which something other than a kill is due.
        self._due = {jobs // 3: "wipe", jobs // 2: "restart of the database", 2 * jobs // 3: "wipe"}

    def run(self, jobs: int, done_before: int) -> None:
        """Disturb the service until all jobs have a result."""
        turn = itertools.cycle(PARTS)
        next_at = time.monotonic()
        while (done := self.database.count_done() - done_before) < jobs:
            if time.monotonic() < next_at or done > jobs - 10:
                time.sleep(0.2)
                continue
            due = next((number for number in sorted(self._due) if number <= done), None)
            if due is None:
                self._kill(next(turn), done)
                next_at = time.monotonic() + KILL_EVERY_SECONDS
                continue
            name = self._due.pop(due)
            self._note(name, done)
            if name == "wipe":
                with redis.Redis.from_url(self._broker_url) as broker:
                    broker.flushall()
                # The next kill comes when the effect of this one is over.
                next_at = time.monotonic() + WIPE_SECONDS + KILL_EVERY_SECONDS
            else:
                process = find(self._service, "database")
                if process is not None:
                    process.send_signal(signal.SIGINT)
                next_at = time.monotonic() + KILL_EVERY_SECONDS
        self._note("end", done)

    def _kill(self, part: str, done: int) -> None:
        process = find(self._service, part)
        if process is None:
            print(f"the {part} does not run: it is not killed", flush=True)
            return
        process.kill()
        self._note(part, done)

    def _note(self, name: str, done: int) -> None:
        self.disturbances.append(Disturbance(name, time.monotonic(), done))
        print(f"{done:5} results: {name}", flush=True)

    def delays(self, rate: float) -> Iterator[tuple[str, float]]:
        """The delay of each disturbance in seconds, against `rate` results a second."""
        for disturbance, following in itertools.pairwise(self.disturbances):
            seconds = following.at - disturbance.at
            yield disturbance.name, seconds - (following.done - disturbance.done) / rate


def check(database: Database, jobs: int) -> dict[str, int]:
    """Count results, and events that say that a result was recorded."""
    attempts = database.ask(
        "SELECT count(*), count(DISTINCT job_id) FROM attempt WHERE outcome = 'completed' AND counted"
    )[0]
    twice = database.ask(
        "SELECT count(*) FROM (SELECT ids->>'attempt' FROM event WHERE kind = 'attempt.recorded'"
        " GROUP BY 1 HAVING count(*) > 1) AS twice"
    )[0][0]
    open_runs = database.ask("SELECT count(*) FROM run WHERE state <> 'finished'")[0][0]
    leases = database.ask("SELECT max(lease_no) FROM attempt")[0][0]
    return {
        "jobs": jobs,
        "results": attempts[0],
        "jobs_with_result": attempts[1],
        "recorded_twice": twice,
        "open_runs": open_runs,
        "most_leases": leases,
    }


def measure(jobs: int, undisturbed_jobs: int, log: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as name:
        home = Path(name)
        home.chmod(0o755)
        toolchains = home / "toolchains"
        adopt(toolchains, home)
        service, url = start_service(home, toolchains, SAMEHERE_SLOTS="2")
        try:
            chaos = Chaos(service, home, jobs)
            database = chaos.database
            submit_run(url, -1)
            while database.count_done() < JOBS_OF_A_RUN:
                time.sleep(0.1)
            began = time.monotonic()
            for number in range(undisturbed_jobs // JOBS_OF_A_RUN):
                submit_run(url, -2 - number)
            warm_up = JOBS_OF_A_RUN + undisturbed_jobs
            while database.count_done() < warm_up:
                time.sleep(0.05)
            rate = undisturbed_jobs / (time.monotonic() - began)
            print(f"undisturbed: {rate:.2f} results a second", flush=True)
            began = time.monotonic()
            submitter = threading.Thread(
                target=lambda: [submit_run(url, number) for number in range(jobs // JOBS_OF_A_RUN)],
                daemon=True,
            )
            submitter.start()
            chaos.run(jobs, warm_up)
            seconds = time.monotonic() - began
            if log is not None:
                log.write_bytes((home / "serve.log").read_bytes())
            end = time.monotonic() + 60
            while (counts := check(database, jobs + warm_up))["open_runs"] and time.monotonic() < end:
                time.sleep(0.5)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(timeout=60)
    return result_of(chaos, jobs, seconds, rate, counts)


def result_of(chaos: Chaos, jobs: int, seconds: float, rate: float, counts: dict[str, int]) -> dict[str, Any]:
    """The figures. `longer_seconds` is against the time that the jobs take undisturbed."""
    delays: dict[str, list[float]] = defaultdict(list)
    for name, delay in chaos.delays(rate):
        delays[name].append(round(delay, 1))
    wipes = len(delays["wipe"])
    kills = sum(len(each) for each in delays.values()) - wipes
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load": os.getloadavg(),
        "counts": counts,
        "undisturbed_per_second": rate,
        "seconds": seconds,
        "longer_seconds": seconds - jobs / rate,
        "kills": kills,
        "wipes": wipes,
        "limit_seconds": KILL_SECONDS * kills + WIPE_SECONDS * wipes,
        "delay_seconds": {
            name: {"median": statistics.median(each), "each": each} for name, each in delays.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--undisturbed", type=int, default=100)
    parser.add_argument("--log", type=Path, help="keep the log of the service here")
    parser.add_argument("--out", type=Path, default=Path("bench/results/chaos.json"))
    arguments = parser.parse_args()
    result = measure(arguments.jobs, arguments.undisturbed, arguments.log)
    keep(result, arguments.out)
    counts = result["counts"]
    if counts["results"] != counts["jobs"] or counts["recorded_twice"] or counts["open_runs"]:
        sys.exit(f"a result is missing, or is there twice: {counts}")
    if result["longer_seconds"] > result["limit_seconds"]:
        sys.exit("the disturbances cost more time than they may")


if __name__ == "__main__":
    main()
