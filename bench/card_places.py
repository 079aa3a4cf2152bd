"""How many attempts a minute one card gives, by the number of attempts that may be under way for it.

    .venv/bin/python bench/card_places.py [--rounds 2] [--seconds 300] [--out bench/results/card_places.json]

An attempt imports torch and computes for a moment on the card. The comparison is the same script by hand: one
at a time, and several at once that lock the card at their first touch of it. All ways take turns. On a
machine without a card, a harmless device node stands for it, and each attempt has it for a while.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from main_path import keep, machine, toolchain

from worker.attempt import sandbox_job
from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.nvml import find_gpus
from worker.cards.watch import CardWatch
from worker.contract import (
    GIB,
    MIB,
    Attempt,
    CardReading,
    CardUse,
    Device,
    Gpu,
    Limits,
    Outcome,
    Result,
    Start,
    Started,
)
from worker.environment import EnvironmentRecorder
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore
from worker.warm import make_warm_starts

IDENTITY = Identity("bench", "bench")
ON_CARD = """
import torch
TOUCH
torch.manual_seed(0)
a = torch.randn(4096, 4096, device="cuda", dtype=torch.float64)
for _ in range(100): a = a @ a; a = a / a.norm()
print(a.sum().item())
"""
# One for each card; a sandbox has harmless ones of these names too.
STAND_INS = ("/dev/full", "/dev/zero")
ON_STAND_IN = f"""
import os, torch
TOUCH
fds = [os.open(path, os.O_RDWR) for path in {STAND_INS!r}]
import time
time.sleep(0.9)
print(torch.ones(8).sum().item())
"""
IMPORT = "import torch\n"
LOCK = "import fcntl, os; fcntl.flock(os.open({!r}, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)"
LIMITS = Limits(wall_seconds=120, memory_bytes=16 * GIB)


class StandInCards(CardWatch):
    """Cards that no driver knows."""

    def __init__(self, folder: Path, count: int) -> None:
        gpus = [
            Gpu(index=index, model="stand-in", memory_bytes=1, capability="9.0", driver="none")
            for index in range(count)
        ]
        super().__init__(gpus, lambda: None, folder=folder, check_seconds=1e9, check_memory_bytes=0)
        for card in self._cards.values():
            card.check_at = time.monotonic() + 1e9

    def is_alone(self, _index: int) -> bool:
        return True

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        return [CardReading(index=index) for index in indexes]


@dataclass(slots=True)
class Measured:
    """The runs of one way: attempts and seconds of each, and how long attempts waited for the card."""

    runs: list[tuple[int, float]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    held_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    outputs: set[str] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        rates = [60 * count / seconds for count, seconds in self.runs]
        return {
            "attempts_a_minute": round(statistics.median(rates), 2) if rates else None,
            "runs": [{"attempts": count, "seconds": round(seconds, 3)} for count, seconds in self.runs],
            "median_wait_seconds": round(statistics.median(self.waits), 3) if self.waits else None,
            # From the touch until the sandbox is gone: what is left of the time is the way to the next one.
            "median_card_seconds": round(statistics.median(self.held_seconds), 3)
            if self.held_seconds
            else None,
            "outputs": sorted(self.outputs),
        }


class Bench:
    """One node's parts with so many cards, and a pool of slots for each way."""

    def __init__(self, home: Path, *, stand_in: bool, cards: int = 1) -> None:
        found = toolchain()
        self.home, self.name, self.python = home, found["name"], found["python"]
        store = ToolchainStore(Path(self.python).parents[2])
        self.script = ON_STAND_IN if stand_in else ON_CARD
        environments = EnvironmentRecorder(home / "cache", probe_seconds=120)
        self.executor = Executor(IDENTITY, store, environments)
        # Each slot's first attempt starts its paused interpreter. None is made a second time cold to compare.
        settings = NodeSettings(home=home, slots=8, warm_audit_share=0.0, warm_memory_bytes=8 * GIB)
        self.warm_executor = Executor(IDENTITY, store, environments, warm=make_warm_starts(settings))
        if stand_in:
            sandbox_job.device_nodes = lambda granted: tuple(  # type: ignore[assignment]
                STAND_INS[gpu.index] for gpu in granted
            )
            self.cards: CardWatch = StandInCards(home / "cards", cards)
        else:
            chosen = store.find(self.name)
            self.cards = CardWatch(
                find_gpus()[:cards],
                lambda: chosen,
                folder=home / "cards",
                check_seconds=1e9,
                check_memory_bytes=256 * MIB,
            )
            sandbox = Sandbox(slot=90, home=home)
            # As in a node: it watches the cards all the time, so that the driver stays loaded.
            self.cards.start()
            # Afterwards the cards are sound, and it is known whether the driver lists processes in a sandbox.
            if not all(self.cards.check(index, sandbox) for index in self.cards.usable()):
                raise SystemExit(f"a card is not sound: {self.cards.cards()}")
        self.measured: dict[str, Measured] = {}

    def by_hand(self, at_once: int, count: int) -> None:
        """Run the script by hand. Several at once lock the card from their first touch on."""
        lock = LOCK.format(str(self.home / "by-hand.lock")) if at_once > 1 else ""
        path = self.home / f"by_hand_{at_once}.py"
        path.write_text(self.script.replace("TOUCH", lock))
        way = self._way("by hand, one at a time" if at_once == 1 else f"by hand, {at_once} at once")

        def run(_number: int) -> bytes:
            return subprocess.run([self.python, str(path)], check=True, capture_output=True).stdout

        began = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            outputs = list(pool.map(run, range(count)))
        way.runs.append((count, time.perf_counter() - began))
        way.outputs |= {hashlib.sha256(output).hexdigest() for output in outputs}

    def by_node(
        self,
        places: int,
        count: int,
        *,
        script: str | None = None,
        way: str = "",
        warm: bool = False,
        sharing: bool = False,
    ) -> None:
        """Run the script as attempts of a node with so many places, and as many slots."""
        results = self.run_pool(
            places,
            count,
            script=script or self.script.replace("TOUCH", ""),
            gated=places > 1,
            warm=warm,
            sharing=sharing,
        )
        name = f"node, {places} place{'s' * (places > 1)}{', warm' * warm}{', card shared' * sharing}"
        measured = self._way(way or name)
        seconds, ended = results
        measured.runs.append((count, seconds))
        for result in ended:
            measured.outputs.add(result.observation.stdout_digest)
            if result.observation.card_waited_seconds is not None:
                measured.waits.append(result.observation.card_waited_seconds)
            if result.observation.card_seconds is not None:
                measured.held_seconds.append(result.observation.card_seconds)

    def import_alone(self, *, gated: bool) -> None:
        """An import of torch in one slot, with the gate or without it."""
        _, (result,) = self.run_pool(2 if gated else 1, 1, script=IMPORT, gated=gated, slots=1)
        way = self._way("import, with the gate" if gated else "import, without the gate")
        way.runs.append((1, result.observation.wall_seconds))
        way.cpu_seconds.append(result.observation.cpu_seconds)

    def _way(self, name: str) -> Measured:
        return self.measured.setdefault(name, Measured())

    def run_pool(
        self,
        places: int,
        count: int,
        *,
        script: str,
        gated: bool,
        slots: int | None = None,
        warm: bool = False,
        sharing: bool = False,
    ) -> tuple[float, list[Result]]:
        """The seconds of so many attempts at once on a pool of their own, and their results.

        With `warm`, the interpreter of each slot is paused before they begin.
        """
        results: list[Result] = []

        def deliver(message: Started | Result) -> None:
            if isinstance(message, Result):
                results.append(message)

        settings = NodeSettings(
            home=self.home,
            locks=self.home / "locks",
            slots=slots or places * self.cards.count,
            card_places=places,
            card_sharing=sharing,
        )
        executor = self.warm_executor if warm else self.executor
        pool = SlotPool(settings, executor, identity=IDENTITY, deliver=deliver, cards=self.cards)
        pool.start()
        if gated != (pool.card_places > 1):
            raise SystemExit("this machine has no gate: `samehere doctor` says why")

        def submit(number: int) -> None:
            pool.submit(self._attempt(f"{places}-{number}", script, gated=gated, warm=warm))

        if warm:
            for number in range(settings.slots):
                submit(-1 - number)
            while len(results) < settings.slots:
                time.sleep(0.05)
            results.clear()
        began = time.perf_counter()
        for number in range(count):
            submit(number)
        pool.finish()
        pool.join()
        seconds = time.perf_counter() - began
        check(results, warm=warm)
        return seconds, results

    def _attempt(self, name: str, script: str, *, gated: bool, warm: bool) -> Attempt:
        return Attempt(
            attempt_id=f"{name}-{time.monotonic()}",
            script=script,
            toolchain=self.name,
            device=Device.CUDA,
            gpus=1,
            card=CardUse.AT_TOUCH if gated else CardUse.FROM_START,
            start=Start.WARM if warm else Start.COLD,
            limits=LIMITS,
        )


def check(results: Sequence[Result], *, warm: bool) -> None:
    """Stop the bench if an attempt failed, or did not start as it was asked to."""
    for result in results:
        if result.outcome is not Outcome.COMPLETED:
            raise SystemExit(f"{result.outcome} {result.reason} {result.observation.stderr}")
        if warm and result.start is not Start.WARM:
            raise SystemExit(f"an attempt started cold: {result.start_reason}")


def measure(bench: Bench, *, rounds: int, seconds: float) -> None:
    """Take turns until the rounds or the seconds are over. The first short run records the environment."""
    bench.run_pool(1, 1, script=bench.script.replace("TOUCH", ""), gated=False)
    steps: list[Callable[[], None]] = [
        lambda: bench.by_hand(1, 5),
        lambda: bench.by_node(1, 5),
        lambda: bench.by_hand(4, 16),
        lambda: bench.by_node(4, 16),
        lambda: bench.by_hand(8, 24),
        lambda: bench.by_node(8, 24),
    ]
    until = time.monotonic() + seconds
    for number in range(rounds):
        # Every other round goes backwards, so that a machine that gets slower disturbs all alike.
        for step in steps if number % 2 == 0 else reversed(steps):
            step()
        for gated in (False, True, True, False):
            bench.import_alone(gated=gated)
        if time.monotonic() + (time.monotonic() - until + seconds) / (number + 1) > until:
            break


def summarize(bench: Bench) -> dict[str, Any]:
    ways = {name: way.as_json() for name, way in bench.measured.items() if not name.startswith("import")}
    rates = {name: way["attempts_a_minute"] for name, way in ways.items()}
    imports = {
        name: {
            "wall_seconds": [round(seconds, 3) for _, seconds in way.runs],
            "cpu_seconds": way.cpu_seconds,
        }
        for name, way in bench.measured.items()
        if name.startswith("import")
    }
    return {
        "ways": ways,
        "imports": imports,
        "node, 4 places / 1 place": round(rates["node, 4 places"] / rates["node, 1 place"], 2),
        "node, 8 places / 1 place": round(rates["node, 8 places"] / rates["node, 1 place"], 2),
        "node, 8 places / by hand, 8 at once": round(
            rates["node, 8 places"] / rates["by hand, 8 at once"], 2
        ),
        "outputs_are_equal": len(set().union(*(way["outputs"] for way in ways.values()))) == 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="no new round begins after this time")
    parser.add_argument("--out", type=Path, default=Path("bench/results/card_places.json"))
    arguments = parser.parse_args()
    private_mounts.enter()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bench = Bench(Path(folder), stand_in=not find_gpus())
        measure(bench, rounds=arguments.rounds, seconds=arguments.seconds)
        result = {
            "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "card": bench.cards.cards()[0].model,
            **summarize(bench),
        }
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
