"""The cost of the whole way from POST /runs to the verdict, and the load of an idle service.

    .venv/bin/python bench/main_path.py [--rounds 10] [--out bench/results/main_path.json]

The comparison is `python script.py` by hand. The bench starts its own service in a temporary home, with the
toolchain that `make` built. By hand and by REST alternate, so that a noisy machine disturbs both alike; only
ratios are comparable between machines.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import socket
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

from app.embedded.postgres import EmbeddedPostgres

SCRIPT = "import torch\ntorch.manual_seed(0)\na = torch.randn(64, 64)\nprint((a @ a).sum().item())\n"


def toolchain() -> dict[str, Any]:
    listed = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "toolchain", "list", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    ready = [t for t in json.loads(listed.stdout) if t["state"] == "ready" and "torch" in t["packages"]]
    if not ready:
        sys.exit("no toolchain with torch is ready: run `make toolchain`")
    return ready[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_service(
    home: Path, toolchains: Path, *, checkout: Path | None = None, **variables: str
) -> tuple[subprocess.Popen[bytes], str]:
    """A service and its address. `checkout` is another one, with its own .venv."""
    port = free_port()
    python = sys.executable if checkout is None else str(checkout / ".venv/bin/python")
    own = {
        "SAMEHERE_HOME": str(home),
        "SAMEHERE_TOOLCHAINS": str(toolchains),
        "SAMEHERE_LOCKS": str(home / "locks"),
    }
    environment = os.environ | own | variables
    with (home / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-P", "-m", "app.cli", "serve", "--port", str(port)],
            env=environment,
            cwd=checkout,
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            if (
                httpx2.get(f"{url}/readyz").status_code == 200
                and httpx2.get(f"{url}/api/v1/nodes").json()["items"]
            ):
                return process, url
        except httpx2.HTTPError:
            pass
        time.sleep(0.2)
    process.terminate()
    sys.exit((home / "serve.log").read_text()[-3000:])


def database_url(home: Path) -> str:
    """The address of the embedded Postgres that runs in a home."""
    url = EmbeddedPostgres(home).attach()
    if url is None:
        sys.exit("the embedded Postgres does not run")
    return url


def by_hand(python: str, script: Path) -> float:
    began = time.perf_counter()
    subprocess.run([python, str(script)], check=True, capture_output=True)
    return time.perf_counter() - began


def by_rest(client: httpx2.Client, name: str) -> tuple[float, float]:
    """Seconds until the run is finished and readable, and seconds of the POST alone."""
    body = {"script": SCRIPT, "targets": [{"device": "cpu", "toolchain": name}], "repeats": 1}
    began = time.perf_counter()
    answer = client.post("/api/v1/runs", json=body)
    posted = time.perf_counter() - began
    answer.raise_for_status()
    run_id = answer.json()["id"]
    with client.stream("GET", f"/api/v1/runs/{run_id}/events", timeout=120) as events:
        for _line in events.iter_lines():
            pass  # the stream ends when the run has
    run = client.get(f"/api/v1/runs/{run_id}").json()
    taken = time.perf_counter() - began
    if run["state"] != "finished" or run["jobs"][0]["attempts"][0]["outcome"] != "completed":
        sys.exit(json.dumps(run, indent=1)[:3000])
    return taken, posted


def post_only(client: httpx2.Client, rounds: int) -> list[float]:
    """Seconds of POST /runs without `dry_run`, for differing scripts (nothing is shared), on a target
    without a node.
    """
    seconds = []
    for number in range(rounds):
        body = {"script": f"# {number}\n{SCRIPT}", "targets": [{"device": "cuda", "gpus": 16}], "repeats": 1}
        began = time.perf_counter()
        client.post("/api/v1/runs", json=body).raise_for_status()
        seconds.append(time.perf_counter() - began)
    return seconds


def idle_share(service: subprocess.Popen[bytes], seconds: float) -> float:
    """The share of one core that all processes of the service use while nothing happens."""
    root = psutil.Process(service.pid)
    processes = [root, *root.children(recursive=True)]

    def used() -> float:
        total = 0.0
        for process in processes:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total

    before = used()
    time.sleep(seconds)
    return (used() - before) / seconds


def spread(seconds: list[float]) -> dict[str, float]:
    return {"min": min(seconds), "median": statistics.median(seconds), "max": max(seconds)}


def machine() -> dict[str, Any]:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        "?",
    )
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def measure(rounds: int) -> dict[str, Any]:
    chain = toolchain()
    toolchains = Path(chain["python"]).parents[2]
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        script = home / "script.py"
        script.write_text(SCRIPT)
        service, url = start_service(home, toolchains)
        try:
            with httpx2.Client(base_url=url) as client:
                by_hand(chain["python"], script)
                by_rest(client, chain["name"])
                hand, rest, posts = [], [], []
                for _ in range(rounds):
                    hand.append(by_hand(chain["python"], script))
                    taken, posted = by_rest(client, chain["name"])
                    rest.append(taken)
                    posts.append(posted)
                answered = post_only(client, 50)
            time.sleep(5)
            idle = idle_share(service, 30)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(timeout=60)
    ratios = [r / h for r, h in zip(rest, hand, strict=True)]
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "toolchain": chain["name"],
        "by_hand_seconds": spread(hand),
        "by_rest_seconds": spread(rest),
        "ratio_rest_to_hand": statistics.median(rest) / statistics.median(hand),
        "ratio_pairs": spread(ratios),
        "post_while_running_seconds": spread(posts),
        "post_seconds": spread(answered),
        "idle_share_of_a_core": idle,
    }


def keep(result: dict[str, Any], out: Path) -> None:
    """Print the figures, and write them to the file of results."""
    out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1)
    out.write_text(text + "\n")
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("bench/results/main_path.json"))
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
