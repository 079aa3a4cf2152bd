"""Building toolchains: how long it takes from a wheel on disk and from the store, what a second one adds, and that two builds are equal.

PYTHONPATH=. .venv/bin/python bench/toolchains.py [RESULT.json] [--torch TORCH_SPEC …]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from worker.machine import read_cpu
from worker.toolchains import ToolchainStore
from worker.toolchains.build import add, add_layer, rebuild
from worker.toolchains.collect import prune
from worker.toolchains.limits import Budget, BuildLimits, size_of
from worker.toolchains.lock import Lock

NUMPY = "numpy==2.4.0"
ROUNDS = 3
RESULT = Path(__file__).parent / "results" / "toolchains.json"


@contextlib.contextmanager
def fresh_store(root: Path) -> Iterator[ToolchainStore]:
    folder = Path(tempfile.mkdtemp(dir=root))
    yield ToolchainStore(folder)
    shutil.rmtree(folder)


def timed(act: Callable[[], object]) -> float:
    before = time.perf_counter()
    act()
    return time.perf_counter() - before


def budget() -> Budget:
    return Budget(BuildLimits())


def lock_of(store: ToolchainStore, name: str) -> Lock:
    recipe = store.read_recipe(name)
    assert recipe is not None
    return recipe.lock


def numpy(root: Path) -> dict[str, Any]:
    """The wheel is on disk or in pip's cache from the second round on; the first one may fetch it."""
    rounds: dict[str, list[float]] = {"resolve": [], "from_the_wheel": [], "from_the_store": []}
    digests = set()
    for _ in range(ROUNDS + 1):
        with fresh_store(root) as store:
            rounds["resolve"].append(timed(lambda: add(store, "a", requirements=[NUMPY], build=False)))
            rounds["from_the_wheel"].append(timed(lambda: rebuild(store, "a", budget=budget())))
            manifest = store.read_manifest("a")
            assert manifest is not None
            digests.add(manifest.files_digest)
            store.remove("a")
            # The environment goes, the unpacked wheels stay: what a second toolchain or a second try finds.
            prune(store, unused_seconds=3600)
            rounds["from_the_store"].append(timed(lambda: add(store, "a", requirements=[NUMPY])))
    seconds = {name: round(statistics.median(each[1:]), 2) for name, each in rounds.items()}
    whole = round(seconds["resolve"] + seconds["from_the_wheel"], 2)
    return {
        "requirement": NUMPY,
        "seconds": {**seconds, "whole_from_the_wheel": whole},
        "rounds": {name: [round(each, 2) for each in every] for name, every in rounds.items()},
        "builds_with_equal_digests": f"{ROUNDS + 1 if len(digests) == 1 else 0} of {ROUNDS + 1}",
    }


def sharing(root: Path, specs: list[str]) -> dict[str, Any]:
    """What each further toolchain adds to the disk, beside what it holds."""
    found: dict[str, Any] = {}
    with fresh_store(root) as store:
        used = 0
        for name, requirements in [*((spec, [spec, "numpy"]) for spec in specs), (f"{specs[0]} scipy", [specs[0], "numpy", "scipy"])]:
            label = name.replace("==", "-").replace(" ", "-")
            seconds = timed(lambda wanted=requirements, key=label: add(store, key, requirements=wanted))
            holds, now = size_of(store.folder(label).resolve()), size_of(store.root)
            found[name] = {
                "seconds": round(seconds, 1),
                "holds_bytes": holds,
                "added_bytes": now - used,
                "shared_bytes": holds - (now - used),
            }
            found[name]["kernels"] = next(facts.kernels for facts in store.list() if facts.name == label)
            used = now
        base = specs[0].replace("==", "-")
        seconds = timed(lambda: add_layer(store, f"{base}+einops", base=base, packages=["einops"], budget=budget()))
        found[f"{specs[0]}, with einops added"] = {"seconds": round(seconds, 1), "added_bytes": size_of(store.root) - used}
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
            "machine": {"cpu": cpu.model, "cores": cpu.cores, "kernel": platform.release(), "python": platform.python_version()},
            "numpy": numpy(root),
            "sharing": sharing(root, asked.torch),
        }
    finally:
        shutil.rmtree(root)
    asked.result.write_text(json.dumps(report, indent=1) + "\n")
    seconds = report["numpy"]["seconds"]
    print(f"{NUMPY}: {seconds['whole_from_the_wheel']} s from the wheel (target 5 s), {seconds['from_the_store']} s from the store")
    for name, figures in report["sharing"].items():
        print(f"{name}: {figures['seconds']} s, adds {figures['added_bytes'] / 1e6:.1f} MB", end="")
        print(f" of the {figures['holds_bytes'] / 1e6:.1f} MB that it holds" if "holds_bytes" in figures else "")


if __name__ == "__main__":
    main()
