"""The cost of the sandbox over a cold run by hand, and of a whole attempt: in turns, by medians.

A whole attempt is all that a node does for one: harness, captured values, environment (recorded before), and
its result as JSON.

    .venv/bin/python bench/sandbox_overhead.py [--rounds 15] [--out bench/results/sandbox_overhead.json]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from main_path import keep, machine, spread, toolchain

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Outcome
from worker.environment import EnvironmentRecorder
from worker.sandbox import Bind, Sandbox, SandboxJob
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore

SCRIPT = "import torch\nprint((torch.ones(64, 64) @ torch.ones(64, 64)).sum().item())\n"


def binds_of(python: str) -> tuple[Bind, ...]:
    """The folders of the toolchain and of its base interpreter."""
    prefixes = subprocess.check_output(
        [python, "-c", "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"], text=True
    ).splitlines()
    return tuple(Bind(prefix, prefix) for prefix in dict.fromkeys(prefixes))


def whole(executor: Executor, attempt: Attempt, sandbox: Sandbox) -> None:
    result = executor.execute(attempt, sandbox, granted=[], cancelled=threading.Event())
    if result.outcome is not Outcome.COMPLETED:
        raise SystemExit(result.model_dump_json(indent=1))
    result.model_dump_json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("bench/results/sandbox_overhead.json"))
    arguments = parser.parse_args()
    chain, rounds = toolchain(), arguments.rounds
    python = chain["python"]
    binds = binds_of(python)
    private_mounts.enter()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        sandbox = Sandbox(slot=0, home=Path(folder))
        script = Path(folder, "script.py")
        script.write_text(SCRIPT)
        job = SandboxJob(
            argv=(python, "/home/u/script.py"), files={"/home/u/script.py": SCRIPT.encode()}, binds=binds
        )
        nothing = SandboxJob(argv=("/usr/bin/env", "true"))
        executor = Executor(
            Identity("bench", "bench"),
            ToolchainStore(Path(python).parents[2]),
            EnvironmentRecorder(Path(folder, "cache"), probe_seconds=120),
        )
        attempt = Attempt(attempt_id="bench", script=SCRIPT, toolchain=chain["name"])
        taken: dict[str, list[float]] = {
            "by hand": [],
            "sandbox": [],
            "whole attempt": [],
            "/usr/bin/env true in the sandbox": [],
        }
        for _ in range(rounds + 1):
            for name, run in (
                ("by hand", lambda: subprocess.run([python, str(script)], check=True, capture_output=True)),
                ("sandbox", lambda: sandbox.run(job, cancelled=threading.Event())),
                ("whole attempt", lambda: whole(executor, attempt, sandbox)),
                (
                    "/usr/bin/env true in the sandbox",
                    lambda: sandbox.run(nothing, cancelled=threading.Event()),
                ),
            ):
                began = time.perf_counter()
                run()
                taken[name].append(time.perf_counter() - began)
        base = statistics.median(taken["by hand"][1:])
        result = {
            "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "level": sandbox.level.value,
            "seconds": {name: spread(times[1:]) for name, times in taken.items()},
            "ratio_to_by_hand": {name: statistics.median(times[1:]) / base for name, times in taken.items()},
            # The fastest runs count, since foreign load only ever adds time.
            "least_ratio_to_by_hand": {
                name: min(times[1:]) / min(taken["by hand"][1:]) for name, times in taken.items()
            },
        }
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
