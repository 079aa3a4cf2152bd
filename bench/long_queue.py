"""What the thousandth of 10 000 queued attempts takes, against the tenth: from lease to result, between results, and of dispatch.

    .venv/bin/python bench/long_queue.py [--out bench/results/long_queue.json]

The queue is filled by REST while the node is away; then the node comes back and works. Scripts are tiny and without torch, so that what
is measured is the service. Each figure is the median over neighbours: attempts 5 to 54 for the tenth, 975 to 1024 for the thousandth.
"""

from __future__ import annotations

import argparse
import json
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
import psycopg
from main_path import free_port, machine, toolchain

from app.embedded.postgres import EmbeddedPostgres

REPEATS = 250
WINDOWS = {"tenth": (5, 55), "thousandth": (975, 1025)}
QUICK = {"SAMEHERE_HEARTBEAT_SECONDS": "1", "SAMEHERE_SWEEP_SECONDS": "5"}


class Bench:
    """A service without a node, and a node that comes and goes."""

    def __init__(self, home: Path, toolchains: Path) -> None:
        own = {"SAMEHERE_HOME": str(home), "SAMEHERE_TOOLCHAINS": str(toolchains), "SAMEHERE_LOCKS": str(home / "locks")}
        self._environment = os.environ | own | QUICK
        self._log = (home / "serve.log").open("wb")
        port = free_port()
        self.service = self._start("app.cli", "serve", "--no-node", "--port", str(port))
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._await(lambda: self.client.get("/readyz").status_code == 200)
        postgres = EmbeddedPostgres(home).attach()
        assert postgres is not None
        self.database = psycopg.connect(postgres, autocommit=True)
        said = next(line for line in (home / "serve.log").read_text().splitlines() if "SAMEHERE_BROKER_URL=" in line)
        self._environment["SAMEHERE_BROKER_URL"] = said.split("SAMEHERE_BROKER_URL=")[1].split()[0]
        self.node = self.start_node()

    def _start(self, *argv: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", *argv], env=self._environment, stdout=self._log, stderr=self._log)

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
        """Without a word: the service counts on its return."""
        self.node.kill()
        self.node.wait()
        self._await(lambda: self._state() == "away")

    def _state(self) -> str:
        return next((node["state"] for node in self.client.get("/api/v1/nodes").json()["items"]), "")

    def fill(self, name: str, length: int) -> None:
        for number in range(length // REPEATS):
            body = {"script": f"print({number})\n", "targets": [{"device": "cpu", "toolchain": name}], "repeats": REPEATS}
            self.client.post("/api/v1/runs", json=body).raise_for_status()

    def recorded(self) -> list[tuple[float, float]]:
        """When each attempt was recorded, and how long it took from its lease, in the order of the results."""
        rows = self.database.execute(
            "SELECT extract(epoch FROM recorded_at), extract(epoch FROM recorded_at - leased_at) FROM attempt"
            " WHERE state = 'recorded' ORDER BY recorded_at"
        ).fetchall()
        return [(float(at), float(took)) for at, took in rows]

    def close(self) -> None:
        self.node.terminate()
        self.node.wait(90)
        self.database.close()
        self.client.close()
        self.service.send_signal(signal.SIGTERM)
        self.service.wait(60)


def measure(length: int) -> dict[str, Any]:
    chain = toolchain()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        bench = Bench(home, Path(chain["python"]).parents[2])
        try:
            bench.end_node()
            began = time.monotonic()
            bench.fill(chain["name"], length)
            filled = time.monotonic() - began
            bench.node = bench.start_node()
            last = max(end for _, end in WINDOWS.values())
            while len(bench.recorded()) < last + 5:
                time.sleep(2.0)
            found = bench.recorded()
        finally:
            bench.close()
    windows = {}
    for name, (first, end) in WINDOWS.items():
        gaps = [found[n + 1][0] - found[n][0] for n in range(first, end)]
        windows[name] = {
            "lease_to_result_seconds": statistics.median(took for _, took in found[first:end]),
            "between_results_seconds": statistics.median(gaps),
        }
    tenth, thousandth = windows["tenth"], windows["thousandth"]
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "queued": length,
        "fill_seconds": filled,
        **windows,
        "ratio": {key: thousandth[key] / tenth[key] for key in tenth},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/long_queue.json"))
    arguments = parser.parse_args()
    result = measure(arguments.length)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
