"""Measures what a trace costs: loops plain, recorded only, and recorded and followed in float64, in turns.

    TOOLCHAIN/bin/python bench/evidence/cost.py HARNESS [--device cuda] [--out FILE]

One process, without a sandbox. The better of two turns counts. The check in the clean process comes later,
and is not in these figures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from direct import flat_copy, load

TURNS = 2
STEPS = 150
# Products of square matrices: their length, and how many.
PRODUCTS = {"cuda": ((512, 50), (1024, 50), (2048, 50), (8192, 20)), "cpu": ((128, 50), (512, 20))}
RECORDED, FOLLOWED = "recorded", "followed"


def timed(device: str, step: Callable[[], Any], times: int) -> float:
    """Seconds of so many steps, until the card has done them."""
    await_card = torch.cuda.synchronize if device == "cuda" else int
    await_card()
    began = time.perf_counter()
    for _ in range(times):
        step()
    await_card()
    return time.perf_counter() - began


def small_loop(device: str) -> float:
    """A training loop of small operations."""
    torch.manual_seed(0)
    layers = (torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    net = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    rows = torch.randn(64, 32).to(device)
    wanted = rows.sum(1, keepdim=True)

    def step() -> None:
        optimizer.zero_grad()
        ((net(rows) - wanted) ** 2).mean().backward()
        optimizer.step()

    for _ in range(5):
        step()
    return timed(device, step, STEPS)


def products(device: str, length: int, times: int) -> float:
    """Products of large matrices, each divided by its norm."""
    torch.manual_seed(0)
    matrix = torch.randn(length, length).to(device)
    results = [matrix @ matrix]

    def step() -> None:
        product = matrix @ results[0]
        results[0] = product / product.norm()

    step()
    return timed(device, step, times)


def traced(folder: str, work: Callable[[], float], *, follows: bool) -> tuple[float, dict[str, Any]]:
    """The seconds of a loop with a trace, and what the trace says of itself."""
    trace = load(folder + "trace.py", {"__name__": "trace"})
    if not follows:
        whole = trace["load"]

        def without_shadow(name: str, **names: Any) -> Any:
            if name == "stand_ins":
                raise ImportError(name)
            return whole(name, **names)

        trace["load"] = without_shadow
    running = trace["start"]()
    try:
        seconds = work()
    finally:
        running.stop()
    stopped = running.follower.table.stopped if running.follower else None
    facts = {"operations": running.seen, "recorded": len(running.operations), "shadow_stopped": stopped}
    return seconds, facts


def measure(folder: str, work: Callable[[], float]) -> dict[str, Any]:
    """The least seconds of each way, their ratios, and the facts of the whole trace."""
    seconds: dict[str, list[float]] = {"plain": [], RECORDED: [], FOLLOWED: []}
    facts: dict[str, Any] = {}
    for _ in range(TURNS):
        seconds["plain"].append(work())
        for way in (RECORDED, FOLLOWED):
            took, facts = traced(folder, work, follows=way == FOLLOWED)
            seconds[way].append(took)
    least = {way: min(each) for way, each in seconds.items()}
    ratios = {way: round(least[way] / least["plain"], 2) for way in (RECORDED, FOLLOWED)}
    return {"seconds": {way: round(each, 5) for way, each in least.items()}, "ratios": ratios, **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("harness", type=Path, help="the folder worker/harness")
    parser.add_argument("--device", default="cpu", choices=list(PRODUCTS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    works = {"small loop": partial(small_loop, options.device)}
    for length, times in PRODUCTS[options.device]:
        works[f"{times} products of {length}"] = partial(products, options.device, length, times)
    card = torch.cuda.get_device_name() if options.device == "cuda" else "none"
    result: dict[str, Any] = {"torch": str(torch.__version__), "card": card, "works": {}}
    with tempfile.TemporaryDirectory() as folder:
        flat = flat_copy(options.harness, Path(folder))
        for name, work in works.items():
            result["works"][name] = measure(flat, work)
            if options.out:
                options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
