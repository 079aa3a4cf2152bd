"""Where the time of a card goes in an attempt: context, work and the end of the process, alone and together.

    .venv/bin/python bench/card_split.py [--python PYTHON] [--out bench/results/card_split.json]

PYTHON is an interpreter with torch; by default that of the first toolchain. No sandbox and no node: so many
processes import torch, wait for each other, touch the card at the same time, and end. Without a card they
compute on the CPU, which only tries the bench.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from main_path import keep, machine, toolchain

from worker.cards.nvml import find_gpus

AT_ONCE = (1, 1, 2, 4, 8)
ON_CPU = (1, 2)
SCRIPT = """
import os, sys, time
began = time.time()
import torch
imported = time.time()
go, ready, device = sys.argv[1:]
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(0.002)
touched = time.time()
torch.ones(1, device=device)
there = time.time()
product = torch.ones(2048, 2048, device=device)
for _ in range(5):
    product = (product @ product) / 2048
product.sum().item()
done = time.time()
print(imported - began, there - touched, done - there, time.time(), flush=True)
"""


def measure(python: str, device: str, at_once: int) -> dict[str, Any]:
    """The mean seconds of each part, and the seconds of all from the touch until the last process is gone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script, go = folder / "script.py", folder / "go"
        script.write_text(SCRIPT)
        ready = [folder / f"ready-{number}" for number in range(at_once)]
        processes = [
            subprocess.Popen(
                [python, str(script), str(go), str(each), device], stdout=subprocess.PIPE, text=True
            )
            for each in ready
        ]
        while not all(each.exists() for each in ready):
            time.sleep(0.01)
        go.touch()
        began = time.time()
        ended: dict[int, float] = {}
        while len(ended) < at_once:
            for number, process in enumerate(processes):
                if number not in ended and process.poll() is not None:
                    ended[number] = time.time()
            time.sleep(0.002)
        rows = [
            [float(word) for word in process.stdout.read().split()]
            for process in processes
            if process.stdout is not None
        ]
    seconds = max(ended.values()) - began
    return {
        "all_seconds": round(seconds, 3),
        "seconds_an_attempt": round(seconds / at_once, 3),
        "import": round(statistics.fmean(row[0] for row in rows), 3),
        "context": round(statistics.fmean(row[1] for row in rows), 3),
        "work": round(statistics.fmean(row[2] for row in rows), 3),
        "end": round(statistics.fmean(ended[number] - row[3] for number, row in enumerate(rows)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="an interpreter with torch")
    parser.add_argument("--out", type=Path, default=Path("bench/results/card_split.json"))
    arguments = parser.parse_args()
    cards = find_gpus()
    python = arguments.python or toolchain()["python"]
    result: dict[str, Any] = {
        "machine": machine(),
        "card": cards[0].model if cards else "none",
        "at_once": {},
    }
    for at_once in AT_ONCE if cards else ON_CPU:
        measured = measure(python, "cuda" if cards else "cpu", at_once)
        result["at_once"].setdefault(str(at_once), []).append(measured)
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
