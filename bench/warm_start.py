"""The gain of a warm start: whole attempts by hand, cold and warm in turns, by medians.

    .venv/bin/python bench/warm_start.py [--rounds 15] [--device cuda] [--out bench/results/warm_start.json]

An attempt is all that a node does for one: it decides, starts, watches, reads the report, and leaves nothing
behind. The bench also reports the memory of a paused interpreter.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from main_path import keep, machine, spread, toolchain

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.nvml import find_gpus
from worker.contract import Attempt, Device, Gpu, Start
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore
from worker.warm.audit import Audit
from worker.warm.pool import WarmPool, proportional_bytes
from worker.warm.starts import WarmStarts

SCRIPTS = {
    Device.CPU: "import torch\nprint((torch.ones(64, 64) @ torch.ones(64, 64)).sum().item())\n",
    Device.CUDA: "import torch\na = torch.ones(64, 64, device='cuda')\nprint((a @ a).sum().item())\n",
}
LEAVES = "import os, sys\nsys.stdout.flush()\nos._exit(0)\n"
# A script that reads a clock before its imports starts cold, so it is the first line behind them.
FIRST_LINE = "import os, time, torch\nprint(time.monotonic(), flush=True)\nos._exit(0)\n"


class Bench:
    """One slot. A rehearsal at the start decides whether its paused interpreters fork or serve once."""

    def __init__(self, home: Path, *, forks: bool, slot: int, device: Device) -> None:
        self.device = device
        self.cards: list[Gpu] = find_gpus()[:1] if device is Device.CUDA else []
        found = toolchain()
        self.python, self.name = found["python"], found["name"]
        self.sandbox = Sandbox(slot=slot, home=home)
        self.pool = WarmPool(memory_bytes=1 << 30, jobs=10_000, seconds=3600, forks=forks)
        store = ToolchainStore(Path(self.python).parents[2])
        recorder = EnvironmentRecorder(home / "cache", probe_seconds=120)
        self.executor = Executor(
            Identity("bench", "bench"),
            store,
            recorder,
            warm=WarmStarts(self.pool, Audit(home / "audit", share=0)),
        )

    def attempt(self, script: str, start: Start) -> float:
        """Seconds of a whole attempt; or until its first line, if the script prints the time there."""
        began, at = time.perf_counter(), time.monotonic()
        attempt = Attempt(
            attempt_id="bench", script=script, toolchain=self.name, start=start, device=self.device
        )
        result = self.executor.execute(attempt, self.sandbox, granted=self.cards, cancelled=threading.Event())
        took = time.perf_counter() - began
        if (result.start, result.observation.exit_status) != (start, 0):
            raise SystemExit(
                f"{result.start} {result.start_reason} {result.outcome} {result.observation.stderr}"
            )
        return float(result.observation.stdout) - at if script is FIRST_LINE else took

    def by_hand(self, path: Path, script: str) -> float:
        path.write_text(script)
        began, at = time.perf_counter(), time.monotonic()
        said = subprocess.run([self.python, str(path)], check=True, capture_output=True).stdout
        return float(said) - at if script is FIRST_LINE else time.perf_counter() - began


def measured(bench: Bench, once: Bench, path: Path, rounds: int) -> dict[str, list[float]]:
    script = SCRIPTS[bench.device]
    steps: dict[str, Callable[[], float]] = {
        "by hand": lambda: bench.by_hand(path, script),
        "cold": lambda: bench.attempt(script, Start.COLD),
        "warm": lambda: bench.attempt(script, Start.WARM),
        "warm, without the interpreter's own end": lambda: bench.attempt(script + LEAVES, Start.WARM),
        "warm, to the first line": lambda: bench.attempt(FIRST_LINE, Start.WARM),
        "warm without forks, to the first line": lambda: bench_once(once, FIRST_LINE),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            seconds = step()
            # The first round starts the paused interpreter and records the environment.
            if number:
                taken[name].append(seconds)
    return taken


def bench_once(once: Bench, script: str) -> float:
    """Start the next interpreter between two attempts, as a node does; this is not measured."""
    once.executor.prepare(once.sandbox, ending=lambda: False)
    return once.attempt(script, Start.WARM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", type=Device, choices=list(SCRIPTS), default=Device.CPU)
    parser.add_argument("--out", type=Path, default=Path("bench/results/warm_start.json"))
    arguments = parser.parse_args()
    private_mounts.enter()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bench = Bench(Path(folder), forks=True, slot=10, device=arguments.device)
        once = Bench(Path(folder), forks=False, slot=11, device=arguments.device)
        taken = measured(bench, once, Path(folder, "script.py"), arguments.rounds)
        base = statistics.median(taken["by hand"])
        result = {
            "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "card": bench.cards[0].model if bench.cards else None,
            "level": bench.sandbox.level.value,
            "seconds": {name: spread(times) for name, times in taken.items()},
            "ratio_to_by_hand": {name: statistics.median(times) / base for name, times in taken.items()},
            "paused_interpreter_bytes": max(proportional_bytes(pid) for pid in bench.pool.pids()),
        }
        bench.pool.close()
        once.pool.close()
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
