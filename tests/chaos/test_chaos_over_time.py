"""New versions of numpy are added to a live service: reports are rerun automatically, whatever is killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chaos_service import Whole, eventually
from running_service import is_ready

from worker.toolchains import ToolchainStore
from worker.toolchains.build import add

pytestmark = [pytest.mark.service, pytest.mark.sandbox]
# Under 2.x a Python number takes the dtype of the array (NEP 50). Python 3.13 has no 1.x, so it can't show
# this.
OLD, NEW, NEWEST = "1.26.4", "2.0.2", "2.4.0"
SUM = "import numpy as np\nprint(int(np.uint8(200) + np.uint8(0) + 100))\n"
WRAPS = {"script": SUM, "claim": "prints 44, expected 300", "repeats": 3}
GROWS = {"script": f"{SUM}# grows\n", "claim": "prints 300, expected 44", "repeats": 3}
BOTH = {"script": f"import einops\n{SUM}", "claim": "prints 44, expected 300", "repeats": 3}


@contextmanager
def old_numpy(home: Path, toolchains: Path) -> Iterator[Whole]:
    """A service whose only toolchain has an old numpy."""
    if sys.version_info >= (3, 13):
        pytest.skip("numpy 1.26 has no wheels for this Python")
    home.mkdir(mode=0o711)
    toolchains.chmod(0o755)
    add(ToolchainStore(toolchains), f"numpy-{OLD}", requirements=[f"numpy=={OLD}", "einops==0.7.0"])
    made = Whole(
        home=home, toolchains=toolchains, more={"SAMEHERE_RERUN_SECONDS": "1", "SAMEHERE_RERUN_AT_ONCE": "2"}
    )
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, session_home: Path) -> Iterator[Whole]:
    """A service for tests that add a toolchain."""
    with old_numpy(session_home / "over-time", tmp_path_factory.mktemp("over-time")) as made:
        yield made


@pytest.fixture
def untouched(tmp_path_factory: pytest.TempPathFactory, session_home: Path) -> Iterator[Whole]:
    """A service without changes so far."""
    folder = tmp_path_factory.mktemp("untouched")
    with old_numpy(session_home / folder.name, folder) as made:
        yield made


def changes(live: Whole, report: str | None = None) -> list[dict[str, Any]]:
    """The changes of a report, or all; newest first."""
    asked = {"limit": "200", **({} if report is None else {"report": report})}
    return list(live.request("GET", "/api/v1/changes", params=asked).json()["items"])


def runs_of(live: Whole, report: str) -> list[dict[str, Any]]:
    return list(live.request("GET", f"/api/v1/reports/{report}").json()["runs"])


def send(live: Whole, body: dict[str, Any]) -> str:
    run = live.finished(live.submit(body))
    return str(run["report"]["id"])


def test_a_toolchain_is_added_to_a_live_service_and_what_it_changes_is_found(untouched: Whole) -> None:
    wraps, grows, both = (send(untouched, body) for body in (WRAPS, GROWS, BOTH))
    assert changes(untouched) == []
    # With the newer one, both packages differ, so a script that imports both is confounded.
    add(ToolchainStore(untouched.toolchains), f"numpy-{NEW}", requirements=[f"numpy=={NEW}", "einops==0.8.1"])
    assert eventually(lambda: len(changes(untouched)) == 3, seconds=90), changes(untouched)
    ((regressed,), (fixed,), (confounded,)) = (changes(untouched, report) for report in (wraps, grows, both))
    assert (regressed["kind"], regressed["axis"], regressed["older"], regressed["newer"]) == (
        "regressed",
        "numpy",
        OLD,
        NEW,
    )
    assert (fixed["kind"], fixed["before"], fixed["after"]) == ("fixed", "reproduced", "not_reproduced")
    assert (confounded["kind"], confounded["differs"]) == ("confounded", ["package.numpy", "package.einops"])
    assert confounded["missing"] == f"numpy {OLD} with einops 0.8.1"
    page = untouched.request("GET", "/changes").text
    assert wraps in page
    assert grows not in page
    # The missing cell separates the two packages.
    add(
        ToolchainStore(untouched.toolchains),
        f"numpy-{OLD}-einops-0.8.1",
        requirements=[f"numpy=={OLD}", "einops==0.8.1"],
    )
    kinds = ["regressed", "confounded"]
    assert eventually(lambda: [item["kind"] for item in changes(untouched, both)] == kinds, seconds=90), (
        changes(untouched, both)
    )


def is_rerun_open(live: Whole, reports: list[str]) -> bool:
    """Whether a rerun of one of these reports goes on, or all of them have ended."""
    reruns = [run for report in reports for run in runs_of(live, report)[:-1]]
    return any(run["state"] == "running" for run in reruns) or (
        len(reruns) == len(reports) and all(run["state"] == "finished" for run in reruns)
    )


def test_whatever_is_killed_while_reports_are_run_again_each_is_run_once(live: Whole) -> None:
    slow = "import time\ntime.sleep(0.3)\n"
    old = [{"toolchain": f"numpy-{OLD}"}]
    reports = [
        send(live, {**WRAPS, "script": f"{slow}{SUM}# {number}\n", "targets": old}) for number in range(9)
    ]
    name = f"numpy-{NEWEST}"
    add(ToolchainStore(live.toolchains), name, requirements=[f"numpy=={NEWEST}", "einops==0.7.0"])
    for part in ("app.tasks worker", "worker node", None):
        assert eventually(lambda: is_rerun_open(live, reports), seconds=120)
        if part is None:
            live.kill_all()
        else:
            live.kill(part)
        assert eventually(lambda: is_ready(live.url), seconds=60)

    assert eventually(lambda: all(changes(live, report) for report in reports), seconds=120, step=1.0), (
        changes(live)
    )
    for report in reports:
        assert [(item["kind"], item["toolchain"]) for item in changes(live, report)] == [("regressed", name)]
        (again,) = runs_of(live, report)[:-1]
        run = live.finished(again["id"])
        assert [job["target"]["toolchain"] for job in run["jobs"]] == [name]
        assert set(live.recordings(run["id"]).values()) == {1}
