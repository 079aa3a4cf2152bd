"""The thousandth of 10 000 queued attempts against the tenth: from lease to result, between results, and
dispatch.

    .venv/bin/python bench/long_queue.py [--out bench/results/long_queue.json]

The queue is filled by REST while the node is away; then the node comes back and works. Scripts are tiny and
without torch, so that the service is measured. Each figure is the median over neighbours: attempts 5 to 54
for the tenth, 975 to 1024 for the thousandth. Then all attempts are cancelled, and the tenth of another 10
000 is measured as well: on a busy machine the two tenths differ by foreign load, and the thousandth is
compared with their mean.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg
from main_path import database_url, free_port, keep, machine, toolchain

REPEATS = 250
TENTH, THOUSANDTH = (5, 55), (975, 1025)
QUICK = {"SAMEHERE_HEARTBEAT_SECONDS": "1", "SAMEHERE_SWEEP_SECONDS": "5"}


class Bench:
    """A service without a node, and a node that comes and goes."""

    def __init__(self, home: Path, toolchains: Path) -> None:
        own = {
            "SAMEHERE_HOME": str(home),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_LOCKS": str(home / "locks"),
        }
        self._environment = os.environ | own | QUICK
        self._log = (home / "serve.log").open("wb")
        port = free_port()
        self.service = self._start("app.cli", "serve", "--no-node", "--port", str(port))
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._await(lambda: self.client.get("/readyz").status_code == 200)
        self.database = psycopg.connect(database_url(home), autocommit=True)
        said = next(
            line for line in (home / "serve.log").read_text().splitlines() if "SAMEHERE_BROKER_URL=" in line
        )
        self._environment["SAMEHERE_BROKER_URL"] = said.split("SAMEHERE_BROKER_URL=")[1].split()[0]
        self.node = self.start_node()

    def _start(self, *argv: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", *argv], env=self._environment, stdout=self._log, stderr=self._log
        )

    @staticmethod
    def _await(condition: Any, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.1)
        raise SystemExit("nothing came of it in time")

    def start_node(self) -> subprocess.Popen[bytes]:
        node = self._start("worker", "node", "--name", "local", "--slots", "1")
        self._await(lambda: self._state() == "ready")
        return node

    def end_node(self) -> None:
        """Stop the node without a message, so that the service expects its return."""
        self.node.kill()
        self.node.wait()
        self._await(lambda: self._state() == "away")

    def _state(self) -> str:
        return next((node["state"] for node in self.client.get("/api/v1/nodes").json()["items"]), "")

    def fill(self, name: str, length: int) -> None:
        for number in range(length // REPEATS):
            body = {
                "script": f"print({number})\n",
                "targets": [{"device": "cpu", "toolchain": name}],
                "repeats": REPEATS,
            }
            self.client.post("/api/v1/runs", json=body).raise_for_status()

    def cancel(self) -> None:
        """The attempts that have not ended."""
        for (run_id,) in self.database.execute(
            "SELECT id FROM run WHERE state IN ('queued', 'running')"
        ).fetchall():
            self.client.post(f"/api/v1/runs/{run_id}/cancel").raise_for_status()

    def await_recorded(self, count: int) -> None:
        """Wait until so many results are recorded; it looks rarely, to disturb little."""
        while (
            self.database.execute("SELECT count(*) FROM attempt WHERE state = 'recorded'").fetchone()[0]
            < count
        ):
            time.sleep(2.0)

    def recorded(self) -> list[tuple[float, float]]:
        """The time of each recording, and the seconds since its lease, in the order of the results."""
        rows = self.database.execute(
            "SELECT extract(epoch FROM recorded_at), extract(epoch FROM recorded_at - leased_at) FROM attempt"
            " WHERE state = 'recorded' ORDER BY recorded_at"
        ).fetchall()
        return [(float(at), float(took)) for at, took in rows]

    def trusted_cpu_seconds(self) -> float:
        """The processor seconds of the service without the node: recorder, dispatcher, web, database,
        broker.
        """
        root = psutil.Process(self.service.pid)
        used = [process.cpu_times() for process in [root, *root.children(recursive=True)]]
        return sum(times.user + times.system for times in used)

    def close(self) -> None:
        self.node.terminate()
        self.node.wait(90)
        self.database.close()
        self.client.close()
        self.service.send_signal(signal.SIGTERM)
        self.service.wait(60)


def window(found: list[tuple[float, float]], which: tuple[int, int]) -> dict[str, float]:
    first, end = which
    return {
        "lease_to_result_seconds": statistics.median(took for _, took in found[first:end]),
        "between_results_seconds": statistics.median(
            found[n + 1][0] - found[n][0] for n in range(first, end)
        ),
    }


def worked(
    bench: Bench, name: str, length: int, wanted: int
) -> tuple[list[tuple[float, float]], list[tuple[int, float]]]:
    """The results of a queue that was filled while no node worked.

    Also the service's processor seconds at some counts of results.
    """
    bench.end_node()
    before = len(bench.recorded())
    bench.fill(name, length)
    bench.node = bench.start_node()
    used = []
    for count in (*range(0, wanted, 50), wanted):
        bench.await_recorded(before + count)
        used.append((len(bench.recorded()) - before, bench.trusted_cpu_seconds()))
    found = bench.recorded()[before:]
    bench.cancel()
    return found, used


def cpu_of_one(used: list[tuple[int, float]], upto: int) -> float:
    """Processor seconds for one attempt, from the 150 attempts that end at this count."""
    near = [(count, seconds) for count, seconds in used if upto - 150 <= count <= upto + 50]
    (count, seconds), (later_count, later_seconds) = near[0], near[-1]
    return (later_seconds - seconds) / (later_count - count)


def measure(length: int) -> dict[str, Any]:
    chain = toolchain()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        bench = Bench(home, Path(chain["python"]).parents[2])
        try:
            found, used = worked(bench, chain["name"], length, THOUSANDTH[1] + 5)
            again, _ = worked(bench, chain["name"], length, TENTH[1] + 5)
        finally:
            bench.close()
    tenth, thousandth, other = window(found, TENTH), window(found, THOUSANDTH), window(again, TENTH)
    cpu = {"early": cpu_of_one(used, 150), "late": cpu_of_one(used, 1000)}
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "queued": length,
        "tenth": tenth,
        "thousandth": thousandth,
        "tenth_of_another": other,
        "ratio": {key: thousandth[key] / statistics.mean([tenth[key], other[key]]) for key in tenth},
        "service_core_seconds_of_an_attempt": {**cpu, "ratio": cpu["late"] / cpu["early"]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/long_queue.json"))
    arguments = parser.parse_args()
    result = measure(arguments.length)
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
