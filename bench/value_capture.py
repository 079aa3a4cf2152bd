"""The cost of captured values: the same script in the sandbox with and without, in turns, by medians.

.venv/bin/python bench/value_capture.py [--rounds 15] [--out bench/results/value_capture.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path

from main_path import machine, spread, toolchain
from sandbox_overhead import SCRIPT, binds_of

from worker.harness import HARNESS_CONFIG_PATH, harness_sources
from worker.observation.harness_report import read_report
from worker.sandbox import Sandbox, SandboxJob

SCRIPTS = {
    "a tiny torch script": SCRIPT,
    "the same, printing 32 tensors": (
        "import torch\nfor n in range(32):\n    print(torch.full((16,), float(n)))\n"
    ),
    "50 tensors of 1 MB": "import torch\nfor n in range(50):\n    globals()[f't{n}'] = torch.rand(250_000)\n",
    "a script without torch": "print('fine')\n",
}


def job_of(python: str, script: str, *, capture: bool) -> SandboxJob:
    config = f'{{"report_fd": @REPORT_FD@, "report_bytes": {2 << 20 if capture else 0}, "settings": {{}}}}'
    files = {"/home/u/script.py": script.encode(), **harness_sources(), HARNESS_CONFIG_PATH: config.encode()}
    return SandboxJob(argv=(python, "/home/u/script.py"), files=files, binds=binds_of(python))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("bench/results/value_capture.json"))
    arguments = parser.parse_args()
    python = toolchain()["python"]
    measured: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        sandbox = Sandbox(slot=0, home=Path(folder))
        for name, script in SCRIPTS.items():
            jobs = {
                "with": job_of(python, script, capture=True),
                "without": job_of(python, script, capture=False),
            }
            walls: dict[str, list[float]] = {"with": [], "without": []}
            cpus: dict[str, list[float]] = {"with": [], "without": []}
            captured = omitted = 0
            for _ in range(arguments.rounds + 1):
                for kind, job in jobs.items():
                    result = sandbox.run(job, cancelled=threading.Event())
                    walls[kind].append(result.wall_seconds)
                    cpus[kind].append(result.cpu_seconds)
                    if kind == "with":
                        read = read_report(result.report)
                        captured, omitted = len(read.values), read.values_omitted
            measured[name] = {
                "captured": captured,
                "omitted": omitted,
                "wall_seconds": {kind: spread(times[1:]) for kind, times in walls.items()},
                "cpu_seconds": {kind: spread(times[1:]) for kind, times in cpus.items()},
                "wall_ratio": statistics.median(walls["with"][1:]) / statistics.median(walls["without"][1:]),
                # The fastest runs count, since foreign load only ever adds time.
                "least_wall_ratio": min(walls["with"][1:]) / min(walls["without"][1:]),
                "least_cpu_ratio": min(cpus["with"][1:]) / min(cpus["without"][1:]),
                "cpu_ratio": statistics.median(cpus["with"][1:]) / statistics.median(cpus["without"][1:]),
            }
    result_of_all = {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "scripts": measured,
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result_of_all, indent=1) + "\n")
    print(json.dumps(result_of_all, indent=1))


if __name__ == "__main__":
    main()
