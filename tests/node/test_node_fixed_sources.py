"""`fix` fixes one source of variation, and leaves every other as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from worker.contract import Result
from worker.contract.names import SETTINGS

Execute = Callable[..., Result]

# A line for each source. The two files are made in an order that the folder need not keep.
SCRIPT = """
import datetime, os, random, time
import numpy as np
print("numpy-generator", np.random.default_rng().random(), np.random.Generator(np.random.PCG64()).random())
print("numpy-legacy", np.random.rand())
print("python", random.random(), random.Random().random())
print("hash", list({f"word {n}" for n in range(50)}))
print("clock", time.time(), datetime.datetime.now(), time.perf_counter_ns())
for name in random.sample(range(100, 200), 100):
    open(f"/tmp/{name}", "w").close()
print("files", os.listdir("/tmp"), [each.name for each in os.scandir("/tmp")])
"""
TORCH = "import torch\nprint(torch.rand(1).item(), torch.nn.Linear(1, 1).weight.item())\n"


def lines_of(result: Result) -> dict[str, str]:
    seen = result.observation
    assert seen.exit_status == 0, seen.stderr
    return dict(line.split(" ", 1) for line in seen.stdout.splitlines())


@pytest.mark.sandbox
@pytest.mark.parametrize("source", [name for name in SETTINGS["fix"] or () if name != "torch"])
def test_one_source_is_fixed_and_no_other(execute: Execute, source: str) -> None:
    one, other = (execute(SCRIPT, settings={"fix": source}) for _ in range(2))
    pairs = zip(lines_of(one).items(), lines_of(other).values(), strict=True)
    equal = {name for (name, left), right in pairs if left == right}
    # With the same numbers of `random` the files are made in the same order too.
    fixed = {"python", "numpy-legacy", "numpy-generator"} if source == "generators" else {source}
    assert equal - {"files"} == fixed - {"files"}
    assert ("files" in equal) or source != "files"
    assert (one.observation.hash_seed == "0") == (source == "hash")


@pytest.mark.sandbox
def test_the_seed_of_torch_alone(execute: Execute) -> None:
    assert len({execute(TORCH, settings={"fix": "torch"}).observation.stdout for _ in range(2)}) == 1


@pytest.mark.sandbox
def test_a_seed_fixes_every_generator_without_torch_too(execute: Execute) -> None:
    one, other = (lines_of(execute(SCRIPT, settings={"seed": "3"})) for _ in range(2))
    generators = ("numpy-generator", "numpy-legacy", "python")
    assert [one[name] for name in generators] == [other[name] for name in generators]
    assert one["hash"] != other["hash"]
