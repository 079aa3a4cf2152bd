"""The time from POST /runs until an answer is visible: the preview, and the first counted attempt.

    .venv/bin/python bench/preview.py [--rounds 15] [--out bench/results/preview.json]

The comparison is `python script.py` by hand. The bench has its own service, with all its processes. An answer
is visible when GET /runs/{id} has it. By hand and by REST alternate, so that a noisy machine disturbs both
alike; only ratios are comparable between machines. The first POST after the start is reported separately.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from main_path import SCRIPT, by_hand, keep, machine, spread, start_service, toolchain


def seen(client: httpx2.Client, run_id: str, kinds: set[str]) -> bool:
    """Whether the run shows a completed attempt of one of these kinds."""
    run = client.get(f"/api/v1/runs/{run_id}").json()
    return any(
        attempt["kind"] in kinds and attempt.get("outcome") == "completed"
        for job in run["jobs"]
        for attempt in job["attempts"]
    )


def by_rest(client: httpx2.Client, name: str, *, repeats: int = 1) -> dict[str, float]:
    """Seconds from the POST until an answer, until a counted answer, and until the end of the run."""
    body = {"script": SCRIPT, "targets": [{"device": "cpu", "toolchain": name}], "repeats": repeats}
    found: dict[str, float] = {}
    began = time.perf_counter()
    answer = client.post("/api/v1/runs", json=body)
    answer.raise_for_status()
    run_id = answer.json()["id"]
    with client.stream("GET", f"/api/v1/runs/{run_id}/events", timeout=120) as events:
        for line in events.iter_lines():
            if line != "event: attempt.recorded":
                continue
            if "anything" not in found and seen(client, run_id, {"preview", "repeat"}):
                found["anything"] = time.perf_counter() - began
            if "something that counts" not in found and seen(client, run_id, {"repeat"}):
                found["something that counts"] = time.perf_counter() - began
    found["the verdict"] = time.perf_counter() - began
    run = client.get(f"/api/v1/runs/{run_id}").json()
    found["previews"] = sum(attempt["kind"] == "preview" for attempt in run["jobs"][0]["attempts"])
    return found


def measure(rounds: int) -> dict[str, Any]:
    chain = toolchain()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        script = home / "script.py"
        script.write_text(SCRIPT)
        by_hand(chain["python"], script)
        service, url = start_service(home, Path(chain["python"]).parents[2])
        try:
            with httpx2.Client(base_url=url) as client:
                first = by_rest(client, chain["name"])
                hand, rest = [], []
                for _ in range(rounds):
                    hand.append(by_hand(chain["python"], script))
                    rest.append(by_rest(client, chain["name"]))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(timeout=60)
    base = statistics.median(hand)
    ways = ("anything", "something that counts", "the verdict")
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "toolchain": chain["name"],
        "by_hand_seconds": spread(hand),
        "seconds_until": {way: spread([one[way] for one in rest]) for way in ways},
        "ratio_to_by_hand": {way: statistics.median(one[way] for one in rest) / base for way in ways},
        "ratio_pairs": {
            way: spread([one[way] / other for one, other in zip(rest, hand, strict=True)]) for way in ways
        },
        "first_post_after_the_start": {**first, "ratio_to_by_hand": first["anything"] / base},
        "previews_shown": sum(one["previews"] for one in rest),
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("bench/results/preview.json"))
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
