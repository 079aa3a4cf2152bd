"""Pages, the first answer and throughput of this checkout against another one, side by side.

    .venv/bin/python bench/two_checkouts.py OTHER [--rounds 10] [--out bench/results/two_checkouts.json]

OTHER is a checkout of samehere with its own .venv. Each checkout gets a service of its own with the recorded
history of the demo. Both are asked in turns, so that a noisy machine disturbs both alike. The main figure is
the median of the ratios of the pairs, this checkout to the other one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from main_path import SCRIPT, free_port, keep, machine, spread, toolchain

ROOT = Path(__file__).parents[1]
READY_SECONDS = 180.0
# Requests of one page in one round; the fastest is taken.
REQUESTS = 5
# Attempts of one run that throughput is measured with.
ATTEMPTS = 12
PAGES = {
    "home": "/",
    "changes": "/changes",
    "reports": "/reports",
    "report": "/reports/{report}",
    "report as Markdown": "/reports/{report}.md",
    "run": "/runs/{run}",
    "cell": "/jobs/{job}",
    "attempt": "/attempts/{attempt}",
    "compare": "/compare?baseline={attempt}&candidate={other_attempt}",
    "nodes": "/nodes",
    "search": "/reports?q=numpy",
    "GET run": "/api/v1/runs/{run}",
    "GET report": "/api/v1/reports/{report}",
    "GET matrix": "/api/v1/reports/{report}/matrix",
}


class Checkout:
    """One checkout and its running service."""

    def __init__(self, root: Path, home: Path, toolchains: Path) -> None:
        """Start the service and wait until it is ready."""
        port = free_port()
        own = {
            "SAMEHERE_HOME": str(home),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_LOCKS": str(home / "locks"),
        }
        self.log = home / "serve.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    str(root / ".venv/bin/python"),
                    "-P",
                    "-m",
                    "app.cli",
                    "serve",
                    "--demo",
                    "--port",
                    str(port),
                ],
                env=os.environ | own,
                cwd=root,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
        deadline = time.monotonic() + READY_SECONDS
        while "is ready on" not in self.log.read_text(errors="replace"):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"no service in {root}:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)

    def end(self) -> None:
        """Stop the service."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def addresses(self) -> dict[str, str]:
        """The address of each page, for the report with the longest run that can be compared."""
        reports = self.client.get("/api/v1/reports?limit=100").json()
        ids = sorted(one["id"] for one in reports.get("items", reports.get("reports", [])))
        best: dict[str, str] = {}
        most = 0
        for report in ids:
            runs = self.client.get(f"/api/v1/reports/{report}").json()["runs"]
            run = self.client.get(f"/api/v1/runs/{runs[0]['id']}").json() if runs else {"jobs": []}
            attempts = [each["id"] for job in run["jobs"] for each in job["attempts"]]
            if len(attempts) > most:
                most = len(attempts)
                best = {
                    "report": report,
                    "run": run["id"],
                    "job": run["jobs"][0]["id"],
                    "attempt": attempts[0],
                    "other_attempt": attempts[-1],
                }
        return {name: path.format(**best) for name, path in PAGES.items()}

    def page_seconds(self, path: str) -> float:
        """Seconds until the page is there, the fastest of REQUESTS."""
        seconds = []
        for _ in range(REQUESTS):
            start = time.perf_counter()
            self.client.get(path).raise_for_status()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def _post(self, chain: str, repeats: int) -> str:
        body = {"script": SCRIPT, "targets": [{"device": "cpu", "toolchain": chain}], "repeats": repeats}
        answer = self.client.post("/api/v1/runs", json=body)
        answer.raise_for_status()
        run_id: str = answer.json()["id"]
        return run_id

    def first_answer_seconds(self, chain: str) -> float:
        """Seconds from the POST until the first attempt is recorded. Then the run comes to its end."""
        start = time.perf_counter()
        run_id = self._post(chain, 1)
        seconds = 0.0
        with self.client.stream("GET", f"/api/v1/runs/{run_id}/events") as events:
            for line in events.iter_lines():
                if line.replace(" ", "") == "event:attempt.recorded" and not seconds:
                    seconds = time.perf_counter() - start
        return seconds

    def run_seconds(self, chain: str) -> float:
        """Seconds from the POST of a run of ATTEMPTS attempts until it is finished."""
        start = time.perf_counter()
        run_id = self._post(chain, ATTEMPTS)
        with self.client.stream("GET", f"/api/v1/runs/{run_id}/events") as events:
            for _ in events.iter_lines():
                pass
        return time.perf_counter() - start


def pairs(rounds: int, this: Callable[[], float], other: Callable[[], float]) -> dict[str, Any]:
    """Seconds of both and the ratios of the pairs. Who goes first alternates."""
    mine, theirs = [], []
    for number in range(rounds):
        for measure, seconds in [(this, mine), (other, theirs)][:: 1 if number % 2 else -1]:
            seconds.append(measure())
    ratios = [one / two for one, two in zip(mine, theirs, strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "this": spread(mine),
        "other": spread(theirs),
        "ratios": spread(ratios),
    }


def revision(root: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def measure(other_root: Path, rounds: int) -> dict[str, Any]:
    chain = toolchain()
    toolchains = Path(chain["python"]).parents[2]
    name = chain["name"]
    with (
        tempfile.TemporaryDirectory(prefix="samehere-bench-") as one,
        tempfile.TemporaryDirectory(prefix="samehere-bench-") as two,
    ):
        for folder in (one, two):
            Path(folder).chmod(0o755)
        checkouts = [Checkout(ROOT, Path(one), toolchains), Checkout(other_root, Path(two), toolchains)]
        this, other = checkouts
        try:
            here, there = this.addresses(), other.addresses()
            for checkout in checkouts:
                checkout.first_answer_seconds(name)
            results = {
                "pages": {
                    page: pairs(
                        rounds,
                        lambda path=here[page]: this.page_seconds(path),
                        lambda path=there[page]: other.page_seconds(path),
                    )
                    for page in PAGES
                },
                "first_answer": pairs(
                    rounds, lambda: this.first_answer_seconds(name), lambda: other.first_answer_seconds(name)
                ),
                "throughput": pairs(rounds, lambda: this.run_seconds(name), lambda: other.run_seconds(name)),
            }
        finally:
            for checkout in checkouts:
                checkout.end()
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "this": revision(ROOT),
        "other": revision(other_root),
        "rounds": rounds,
        **results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("bench/results/two_checkouts.json"))
    arguments = parser.parse_args()
    result = measure(arguments.other.resolve(), arguments.rounds)
    print(json.dumps({page: round(each["ratio"], 3) for page, each in result["pages"].items()}, indent=1))
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
