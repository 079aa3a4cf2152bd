"""The time to build toolchains, from a wheel on disk and from the store, and the disk of each further one.

    PYTHONPATH=. .venv/bin/python bench/toolchains.py [RESULT.json] [--torch TORCH_SPEC …]

It also checks that two builds are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import platform
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from worker.machine.hardware import read_cpu
from worker.toolchains import ToolchainStore
from worker.toolchains.build import add, add_layer, rebuild
from worker.toolchains.collect import prune
from worker.toolchains.limits import Budget, BuildLimits, size_of

NUMPY = "numpy==2.4.0"
ROUNDS = 3
RESULT = Path(__file__).parent / "results" / "toolchains.json"


@contextlib.contextmanager
def fresh_store(root: Path) -> Iterator[ToolchainStore]:
    folder = Path(tempfile.mkdtemp(dir=root))
    yield ToolchainStore(folder)
    shutil.rmtree(folder)


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Wall seconds and processor seconds; the latter are comparable on a busy machine too."""
    before, used = time.perf_counter(), processor_seconds()
    act()
    return time.perf_counter() - before, processor_seconds() - used


def processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def budget() -> Budget:
    return Budget(BuildLimits())


def numpy(root: Path) -> dict[str, Any]:
    """Build in rounds.

    The first one may fetch the wheel and does not count; later ones find it on disk or in pip's cache.
    """
    rounds: dict[str, list[tuple[float, float]]] = {
        "resolve": [],
        "from the wheel": [],
        "from the store, resolved again": [],
    }
    digests = set()
    for _ in range(ROUNDS + 1):
        with fresh_store(root) as store:
            rounds["resolve"].append(timed(lambda: add(store, "a", requirements=[NUMPY], build=False)))
            rounds["from the wheel"].append(timed(lambda: rebuild(store, "a", budget=budget())))
            manifest = store.read_manifest("a")
            digests.add(manifest.files_digest if manifest else "")
            store.remove("a")
            # Only the environment is removed: a second toolchain finds the unpacked wheels too.
            prune(store, unused_seconds=3600)
            rounds["from the store, resolved again"].append(
                timed(lambda: add(store, "a", requirements=[NUMPY]))
            )
    return {
        "requirement": NUMPY,
        "seconds": {name: summary([clock for clock, _ in every[1:]]) for name, every in rounds.items()},
        "processor_seconds": {
            name: summary([used for _, used in every[1:]]) for name, every in rounds.items()
        },
        "builds_with_equal_digests": f"{ROUNDS + 1 if len(digests) == 1 else 0} of {ROUNDS + 1}",
    }


def summary(values: list[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 2),
        "median": round(statistics.median(values), 2),
        "max": round(max(values), 2),
    }


def sharing(root: Path, specs: list[str]) -> dict[str, Any]:
    """The disk that each further toolchain adds, beside its size."""
    found: dict[str, Any] = {}
    wanted = {spec: [spec, "numpy"] for spec in specs} | {f"{specs[0]} scipy": [specs[0], "numpy", "scipy"]}
    with fresh_store(root) as store:
        used = 0
        for words, requirements in wanted.items():
            name = words.replace("==", "-").replace(" ", "-")
            clock, processor = timed(functools.partial(add, store, name, requirements=requirements))
            facts = next(facts for facts in store.list() if facts.name == name)
            holds, now = size_of(store.folder(name).resolve()), size_of(store.root)
            found[words] = {
                "seconds": round(clock, 1),
                "processor_seconds": round(processor, 1),
                "holds_bytes": holds,
                "added_bytes": now - used,
                "shared_bytes": max(0, holds - (now - used)),
                "kernels": facts.kernels,
            }
            used = now
        base = specs[0].replace("==", "-")
        clock, processor = timed(
            functools.partial(
                add_layer, store, f"{base}+einops", base=base, packages=["einops"], budget=budget()
            )
        )
        found[f"{specs[0]}, with einops added"] = {
            "seconds": round(clock, 1),
            "processor_seconds": round(processor, 1),
            "added_bytes": size_of(store.root) - used,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result", nargs="?", type=Path, default=RESULT)
    parser.add_argument("--torch", nargs="+", default=["torch==2.13.0"], metavar="SPEC")
    asked = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="samehere-bench-"))
    try:
        cpu = read_cpu()
        report = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {
                "cpu": cpu.model,
                "cores": cpu.cores,
                "kernel": platform.release(),
                "python": platform.python_version(),
            },
            "load_at_start": round(os.getloadavg()[0], 1),
            "numpy": numpy(root),
            "sharing": sharing(root, asked.torch),
        }
    finally:
        shutil.rmtree(root)
    asked.result.write_text(json.dumps(report, indent=1) + "\n")
    for name, figures in report["numpy"]["seconds"].items():
        print(
            f"{NUMPY}, {name}: {figures['median']} s "
            f"({report['numpy']['processor_seconds'][name]['median']} s of the processors)"
        )
    for name, figures in report["sharing"].items():
        print(f"{name}: {figures['seconds']} s, adds {figures['added_bytes'] / 1e6:.1f} MB", end="")
        print(f"; holds {figures['holds_bytes'] / 1e6:.1f} MB" if "holds_bytes" in figures else "")


if __name__ == "__main__":
    main()
