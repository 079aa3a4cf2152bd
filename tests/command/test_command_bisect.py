"""`samehere bisect` over real releases of numpy: finds changes in both directions, also if flaky."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command_line import samehere
from running_command import run_here
from running_service import own_uids

from worker.toolchains import ToolchainStore
from worker.toolchains.build import add

pytestmark = pytest.mark.sandbox
# Python 3.13 and newer have no release of 1.x; the behaviour changed in 2.0.
RELEASES = ("1.24.4", "1.26.4", "2.0.2", "2.2.6", "2.3.5")
needs_old_numpy = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="numpy 1.24 has no wheels for this Python"
)
# Under 2.x a Python number takes the dtype of the array (NEP 50); under 1.x its value decided.
WRAPS = """\
A sum wraps around.

```python
import numpy as np
print(int(np.uint8(200) + np.uint8(0) + 100))
```

It prints 44, expected 300.
"""
WIDENS = WRAPS.replace("wraps around", "does not wrap around").replace(
    "prints 44, expected 300", "prints 300, expected 44"
)
FLAKY = """\
It wraps around sometimes.

```python
import os, sys
import numpy as np
chance = int.from_bytes(os.urandom(2), "big") / 65536
print(int(np.uint8(200) + np.uint8(0) + 100) if chance < 0.6 else 300)
```

It sometimes prints 44, expected 300.
"""
GONE = (
    "```python\nimport numpy as np\nvalue = np.float_(0.5)\n"
    "print(int(np.uint8(200) + np.uint8(100)))\n```\n\n"
    "It prints 44, expected 300.\n"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bisect")
    folder.chmod(0o755)
    store = ToolchainStore(folder / "toolchains")
    for release in RELEASES[:-1]:
        add(store, f"numpy-{release}", requirements=[f"numpy=={release}"])
    # The newest toolchain is locked, and is built when it is first tried.
    add(store, f"numpy-{RELEASES[-1]}", requirements=[f"numpy=={RELEASES[-1]}"], build=False)
    return folder


def environment_of(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SAMEHERE_")}
    own = {"SAMEHERE_HOME": str(home), "SAMEHERE_LOCKS": str(home / "locks"), "SAMEHERE_PACKAGES_ALLOWED": ""}
    return kept | own | own_uids()


def command(home: Path, report: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (home / "report.md").write_text(report)
    words = ("bisect", str(home / "report.md"), *options)
    return run_here(*words, environment={**environment_of(home), **variables})


def bisect(home: Path, report: str, *options: str, **variables: str) -> dict[str, Any]:
    done = command(home, report, "--over", "numpy", "--json", *options, **variables)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@needs_old_numpy
def test_what_appeared_is_found_over_a_locked_toolchain_too(home: Path) -> None:
    answer = bisect(home, WRAPS, SAMEHERE_SLOTS="2")
    assert (answer["kind"], answer["last_good"], answer["first_bad"], answer["exact"]) == (
        "appeared",
        "1.26.4",
        "2.0.2",
        True,
    )
    assert answer["probability"] >= 0.99
    assert (answer["one_axis"], answer["confounded"]) == (True, None)
    assert answer["last_bad"] is answer["first_good"] is None
    assert [point["value"] for point in answer["points"]] == list(RELEASES)
    tried = {point["value"]: (point["seen"], point["of"]) for point in answer["points"]}
    assert tried["2.3.5"] >= (1, 1)
    # Both neighbours were tried again before the answer was given.
    assert tried["2.0.2"][0] >= 2
    assert tried["1.26.4"] >= (0, 2)
    assert answer["attempts"] <= 20


@needs_old_numpy
def test_what_was_fixed_is_told_as_such(home: Path) -> None:
    answer = bisect(home, WIDENS)
    assert (answer["kind"], answer["last_bad"], answer["first_good"]) == ("fixed", "1.26.4", "2.0.2")
    assert answer["last_good"] is answer["first_bad"] is None


@needs_old_numpy
def test_a_flaky_reproducer_costs_attempts_and_not_the_answer(home: Path) -> None:
    answer = bisect(home, FLAKY)
    assert (answer["kind"], answer["last_good"], answer["first_bad"]) == ("appeared", "1.26.4", "2.0.2")
    assert answer["probability"] >= 0.99
    assert 0.1 < answer["rate"] <= 1


@needs_old_numpy
def test_a_part_of_the_series_can_be_taken(home: Path) -> None:
    answer = bisect(home, WRAPS, "--from", "2.0", "--to", "2.2")
    assert [point["value"] for point in answer["points"]] == ["2.0.2", "2.2.6"]
    assert (answer["kind"], answer["first_bad"]) == ("throughout", None)
    answer = bisect(home, WRAPS, "--toolchain", "numpy-1.24.4", "--toolchain", "numpy-2.2.6")
    assert (answer["last_good"], answer["first_bad"], answer["exact"]) == ("1.24.4", "2.2.6", True)


@needs_old_numpy
def test_versions_that_cannot_show_it_are_left_out_and_named(home: Path) -> None:
    answer = bisect(home, GONE)
    reasons = {
        point["value"]: point["reason"] and point["reason"]["code"]
        for point in answer["points"]
        if point["given_up"]
    }
    assert reasons == {"2.0.2": "stale_reproducer", "2.2.6": "stale_reproducer", "2.3.5": "stale_reproducer"}
    assert (answer["kind"], answer["probability"] > 0.99) == ("throughout", True)


@needs_old_numpy
def test_few_attempts_end_in_an_honest_range(home: Path) -> None:
    answer = bisect(home, WRAPS, "--most-attempts", "4")
    assert answer["attempts"] == 4
    assert not answer["exact"] or answer["probability"] < 0.99


@needs_old_numpy
def test_neighbours_that_differ_in_more_are_confounded_and_the_missing_cell_is_offered(home: Path) -> None:
    store = ToolchainStore(home / "toolchains")
    if "old-pair" not in store.names():
        add(store, "old-pair", requirements=["numpy==1.26.4", "packaging==24.0"])
        add(store, "new-pair", requirements=["numpy==2.2.6", "packaging==25.0"])
    pair = ("--toolchain", "old-pair", "--toolchain", "new-pair")
    answer = bisect(home, WRAPS, *pair)
    assert (answer["one_axis"], answer["confounded"]["differing"]) == (False, ["package.packaging"])
    assert "'numpy==2.2.6' 'packaging==24.0'" in answer["confounded"]["command"]
    assert "confounded" in command(home, WRAPS, "--over", "numpy", *pair).stdout.lower()


def test_over_threads(home: Path) -> None:
    script = "import os\nprint('many' if int(os.environ['OMP_NUM_THREADS']) >= 3 else 'few')"
    report = f"```python\n{script}\n```\n\nIt prints `many`, expected `few`.\n"
    (home / "threads.md").write_text(report)
    words = ("bisect", str(home / "threads.md"), "--over", "threads", "--to", "5", "--json")
    done = samehere(*words, environment=environment_of(home))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["last_good"], answer["first_bad"], answer["one_axis"]) == ("2", "3", True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--over", "seed"), "no order"),
        (("--over", "scipy"), "toolchain add scipy-VERSION"),
        (("--over", "numpy", "--from", "new"), "from must be a version"),
        (("--over", "numpy", "--from", "2.2", "--to", "2.0"), "2.2 comes after 2.0: swap"),
        (("--over", "threads", "--from", "4", "--to", "2"), "4 comes after 2: swap"),
        (("--over", "cpu-isa", "--from", "native", "--to", "avx2"), "native comes after avx2: swap"),
        (("--over", "numpy", "--error", "0.7"), "between 0 and 0.5"),
        (("--over", "numpy", "--toolchain", "none"), "No toolchain with this name is ready or can be built"),
        (("--over", "cpu-isa", "--from", "avx9"), "compatible, sse4.2, avx2, native"),
        (("--over", "numpy", "--target", "tpu"), "no such device"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(home: Path, options: tuple[str, ...], says: str) -> None:
    done = command(home, WRAPS, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())


def test_a_report_that_claims_nothing_is_told_how_to(home: Path) -> None:
    done = command(home, "```python\nprint(1)\n```\n", "--over", "numpy")
    assert done.returncode == 2
    assert "--claim" in done.stderr


def test_what_the_reporter_lacks_is_asked(home: Path) -> None:
    answer = bisect(home, "It crashes. Please help.\n")
    assert answer["ask"]
    assert answer["kind"] is None
