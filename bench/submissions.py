"""Submissions a second: alone, and while two slots work; and how long one takes at a steady rate.

    PYTHONPATH=. .venv/bin/python bench/submissions.py [--seconds 15] [--other CHECKOUT] [--rounds 2]
        [--out bench/results/submissions.json]

With --other, a checkout with its own .venv is measured in the same run, in turns with this one; `ratios` has
the medians of this one to those of the other.
The bench starts its own service in a temporary home. Each submission has another script, so nothing is
shared, and waits in the queue: two scripts hold both slots, first asleep and then at work. Only ratios within
one run can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import signal
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from main_path import keep, machine, start_service, toolchain

CLIENTS = 4
STEADY_RATE = 50
# Two scripts hold the slots: they sleep until a moment, and compute after it.
HOLDING = """\
import time
end = time.monotonic() + 50
while time.monotonic() < end:
    if time.time() < {begin}:
        time.sleep(0.1)
"""
_numbers = itertools.count()


def body(name: str) -> dict[str, Any]:
    """A submission that waits in the queue, behind the scripts that hold the slots."""
    target = {"device": "cpu", "toolchain": name}
    script = f"print({next(_numbers)})\n"
    return {"script": script, "claim": "prints 1", "targets": [target], "repeats": 1, "awaited": False}


async def submit(client: httpx2.AsyncClient, name: str) -> float | None:
    """Seconds of a submission; None if the service is too busy and says so."""
    began = time.perf_counter()
    answer = await client.post("/api/v1/runs", json=body(name))
    if answer.status_code == 503:
        return None
    answer.raise_for_status()
    return time.perf_counter() - began


async def as_fast_as_possible(url: str, name: str, seconds: float) -> dict[str, float]:
    """Submissions a second of a few clients that each wait for their answer."""
    taken: list[float | None] = []
    deadline = time.monotonic() + seconds

    async def one(client: httpx2.AsyncClient) -> None:
        while time.monotonic() < deadline:
            taken.append(await submit(client, name))

    began = time.monotonic()
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        await asyncio.gather(*(one(client) for _ in range(CLIENTS)))
    return {"a_second": accepted(taken) / (time.monotonic() - began), **quantiles(taken)}


async def at_a_rate(url: str, name: str, seconds: float) -> dict[str, float]:
    """Seconds of each submission at a steady rate, counted from the time at which it was due."""
    # A service that is too slow for the rate lets requests wait for a connection, which counts as their time.
    timeout = httpx2.Timeout(60, pool=None)
    async with httpx2.AsyncClient(base_url=url, timeout=timeout) as client:
        began = time.perf_counter()

        async def one(number: int) -> float | None:
            due = began + number / STEADY_RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            return None if await submit(client, name) is None else time.perf_counter() - due

        taken = await asyncio.gather(*(one(number) for number in range(int(seconds * STEADY_RATE))))
        return {"a_second": accepted(taken) / (time.perf_counter() - began), **quantiles(taken)}


def accepted(taken: list[float | None]) -> int:
    return sum(seconds is not None for seconds in taken)


def quantiles(taken: list[float | None]) -> dict[str, float]:
    """Milliseconds of those that were accepted, and how many were refused."""
    ordered = sorted(seconds for seconds in taken if seconds is not None)
    places = (("median_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99))
    return {name: round(1000 * ordered[int(share * (len(ordered) - 1))], 1) for name, share in places} | {
        "refused": len(taken) - len(ordered)
    }


def hold_two_slots(url: str, name: str, begin: float) -> None:
    """Start two scripts that compute from the time `begin`; returns when both hold a slot."""
    with httpx2.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        script, target = HOLDING.format(begin=begin), {"device": "cpu", "toolchain": name}
        runs = []
        for number in range(2):
            body = {"script": f"# {number}\n{script}", "targets": [target], "repeats": 50}
            runs.append(client.post("/runs", json=body).raise_for_status().json()["id"])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if all(client.get(f"/runs/{run}").json()["state"] == "running" for run in runs):
                return
            time.sleep(0.2)
    raise SystemExit("the two slots did not begin their work")


def measure(url: str, name: str, seconds: float) -> dict[str, Any]:
    begin = time.time() + 2 * seconds + 30
    hold_two_slots(url, name, begin)
    asyncio.run(as_fast_as_possible(url, name, 2))  # the first requests import what they need
    result: dict[str, Any] = {}
    result["alone"] = asyncio.run(as_fast_as_possible(url, name, seconds))
    result["steady_alone"] = asyncio.run(at_a_rate(url, name, seconds))
    time.sleep(max(0.0, begin + 1 - time.time()))
    result["two_slots_work"] = asyncio.run(as_fast_as_possible(url, name, seconds))
    result["steady_two_slots_work"] = asyncio.run(at_a_rate(url, name, seconds))
    ratio = result["two_slots_work"]["a_second"] / result["alone"]["a_second"]
    result["ratio_two_slots_to_alone"] = round(ratio, 2)
    return result


def measure_checkout(checkout: Path | None, found: dict[str, Any], seconds: float) -> dict[str, Any]:
    """One service of a checkout from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="submissions-", ignore_cleanup_errors=True) as folder:
        toolchains = Path(found["python"]).parents[2]
        variables = {"SAMEHERE_SLOTS": "2", "SAMEHERE_UNAWAITED_RUNS": "100000"}
        process, url = start_service(Path(folder), toolchains, checkout=checkout, **variables)
        try:
            return measure(url, found["name"], seconds)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def ratios(this: list[dict[str, Any]], other: list[dict[str, Any]]) -> dict[str, float]:
    """Submissions a second of this checkout to those of the other one."""

    def median(rounds: list[dict[str, Any]], phase: str) -> float:
        return statistics.median(each[phase]["a_second"] for each in rounds)

    return {
        phase: round(median(this, phase) / median(other, phase), 2) for phase in ("alone", "two_slots_work")
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--other", type=Path, help="a checkout to compare with")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/results/submissions.json"))
    arguments = parser.parse_args()
    found = toolchain()
    other_checkout = None if arguments.other is None else arguments.other.resolve()
    load = os.getloadavg()
    this: list[dict[str, Any]] = []
    other: list[dict[str, Any]] = []
    for _ in range(arguments.rounds):
        this.append(measure_checkout(None, found, arguments.seconds))
        if other_checkout is not None:
            other.append(measure_checkout(other_checkout, found, arguments.seconds))
    more = {} if not other else {"other": other, "ratios": ratios(this, other)}
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            **machine(),
            "load_before": load,
            "load_after": os.getloadavg(),
        },
        "seconds_of_a_phase": arguments.seconds,
        "clients": CLIENTS,
        "steady_rate": STEADY_RATE,
        **this[0],
        "rounds": this,
        **more,
    }
    keep(report, arguments.out)


if __name__ == "__main__":
    main()
