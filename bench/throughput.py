"""Warm attempts a minute with the whole service running, against `python script.py` by hand, back to back.

    .venv/bin/python bench/throughput.py [--rounds 3] [--out bench/results/throughput.json]

In turns: some runs by hand, with the service idle; then a run of many attempts, queued by REST and marked in
the database to start warm, like the further repeats of a mixed job. All else is the real way: dispatcher,
broker, node, sandbox, recorder, judging.
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
import psycopg
from main_path import SCRIPT, by_hand, database_url, keep, machine, spread, start_service, toolchain

BY_HAND = 6
# The first attempts of a run are not counted: they were leased cold before they could be marked warm.
UNCOUNTED = 6


def by_service(
    client: httpx2.Client, database: psycopg.Connection[Any], name: str, attempts: int
) -> dict[str, float]:
    """The warm attempts a minute of a run, between its first and its last recorded result."""
    body = {"script": SCRIPT, "targets": [{"device": "cpu", "toolchain": name}], "repeats": attempts}
    answer = client.post("/api/v1/runs", json=body)
    answer.raise_for_status()
    run_id = answer.json()["id"]
    database.execute("UPDATE attempt SET start = 'warm' WHERE run_id = %s AND state = 'queued'", (run_id,))
    while client.get(f"/api/v1/runs/{run_id}").json()["state"] != "finished":
        time.sleep(1.0)
    rows = database.execute(
        "SELECT extract(epoch FROM recorded_at), start, (result->'observation'->>'wall_seconds') FROM attempt"
        " WHERE run_id = %s AND kind = 'repeat' ORDER BY recorded_at",
        (run_id,),
    ).fetchall()
    kept = rows[UNCOUNTED:]
    seconds = float(kept[-1][0] - kept[0][0])
    return {
        "per_minute": 60 * (len(kept) - 1) / seconds,
        "warm_share": sum(row[1] == "warm" for row in kept) / len(kept),
        "of_which_script_seconds": statistics.median(float(row[2]) for row in kept),
    }


def measure(rounds: int, attempts: int) -> dict[str, Any]:
    chain = toolchain()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        script = home / "script.py"
        script.write_text(SCRIPT)
        by_hand(chain["python"], script)
        service, url = start_service(home, Path(chain["python"]).parents[2])
        try:
            with (
                httpx2.Client(base_url=url, timeout=60) as client,
                psycopg.connect(database_url(home), autocommit=True) as database,
            ):
                by_service(client, database, chain["name"], UNCOUNTED + 4)
                hand, runs = [], []
                for _ in range(rounds):
                    taken = [by_hand(chain["python"], script) for _ in range(BY_HAND)]
                    hand.append(60 * BY_HAND / sum(taken))
                    runs.append(by_service(client, database, chain["name"], attempts))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(timeout=60)
    ratios = [run["per_minute"] / other for run, other in zip(runs, hand, strict=True)]
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "toolchain": chain["name"],
        "by_hand_per_minute": spread(hand),
        "warm_per_minute": spread([run["per_minute"] for run in runs]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "warm_share": min(run["warm_share"] for run in runs),
        "script_seconds": statistics.median(run["of_which_script_seconds"] for run in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--attempts", type=int, default=120)
    parser.add_argument("--out", type=Path, default=Path("bench/results/throughput.json"))
    arguments = parser.parse_args()
    result = measure(arguments.rounds, arguments.attempts)
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
