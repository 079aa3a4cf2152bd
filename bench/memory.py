"""Memory of each process of an idle `samehere serve`, as proportional set size (PSS).

    .venv/bin/python bench/memory.py [--out bench/results/memory.json]

PSS counts a page that several processes share in parts, so the sum is what the service takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from main_path import keep, machine, start_service, toolchain

IDLE_SECONDS = 20
PARTS = {
    "recorder": "app.tasks worker",
    "web": "app.serve.web",
    "beat": "app.tasks beat",
    "node": "worker node",
}


def part_of(process: psutil.Process) -> str:
    """The part of the service that a process belongs to."""
    command = " ".join(process.cmdline())
    servers = {"postgres": "postgres", "valkey-server": "valkey"}
    return next(
        (name for name, words in PARTS.items() if words in command), servers.get(process.name(), "slots")
    )


def measure() -> dict[str, Any]:
    """MiB by part."""
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        Path(folder).chmod(0o711)
        service, _ = start_service(Path(folder), Path(toolchain()["python"]).parents[2])
        try:
            time.sleep(IDLE_SECONDS)
            supervisor = psutil.Process(service.pid)
            sizes = {"supervisor": supervisor.memory_full_info().pss}
            for child in supervisor.children(recursive=True):
                part = part_of(child)
                sizes[part] = sizes.get(part, 0) + child.memory_full_info().pss
        finally:
            service.terminate()
            service.wait(60)
    mebibytes = {part: round(size / 1024**2, 1) for part, size in sorted(sizes.items())}
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "pss_mib": mebibytes,
        "supervisor_and_beat_mib": round(mebibytes["supervisor"] + mebibytes["beat"], 1),
        "before_mib": {"supervisor": 78, "beat": 76},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench/results/memory.json"))
    keep(measure(), parser.parse_args().out)


if __name__ == "__main__":
    main()
