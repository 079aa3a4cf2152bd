"""A comparison of versions with real releases of numpy: their results differ, and the run reports it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from running_service import own_uids

from worker.toolchains import ToolchainStore
from worker.toolchains.build import add

pytestmark = pytest.mark.sandbox
# The last release of 1.x with wheels for this Python, and two of 2.x. Python 3.13 and newer have none of 1.x.
RELEASES = ("1.26.4", "2.0.2", "2.4.0") if sys.version_info < (3, 13) else ("2.1.3", "2.3.5", "2.4.0")
# In 2.x, a Python number takes the array's dtype (NEP 50); in 1.x, its value decides.
REPORT = """\
A sum of small numbers wraps around.

```python
import numpy as np
print(int(np.uint8(200) + np.uint8(0) + 100))
```

It prints 44, expected 300.

I use numpy 1.26.4.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versions")
    folder.chmod(0o755)
    store = ToolchainStore(folder / "toolchains")
    for release in RELEASES:
        add(store, f"numpy-{release}", requirements=[f"numpy=={release}"])
    return folder


def reproduce(home: Path, report: str, *options: str, **variables: str) -> dict[str, object]:
    (home / "report.md").write_text(report)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SAMEHERE_")}
    own = {"SAMEHERE_HOME": str(home), "SAMEHERE_LOCKS": str(home / "locks"), "SAMEHERE_PACKAGES_ALLOWED": ""}
    words = [sys.executable, "-P", "-m", "app.cli", "reproduce", str(home / "report.md"), "--json", *options]
    process = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env={**inherited, **own, **own_uids(), **variables},
        timeout=250,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    run: dict[str, object] = json.loads(process.stdout)
    return run


def verdicts(run: dict[str, object]) -> dict[str, str]:
    jobs = run["jobs"]
    assert isinstance(jobs, list)
    return {job["target"]["toolchain"]: job["verdict"] for job in jobs}


def test_the_verdict_differs_by_version(home: Path) -> None:
    run = reproduce(home, REPORT, "--preset", "versions", "--repeats", "3")
    expected = {
        f"numpy-{release}": "not_reproduced" if release.startswith("1.") else "reproduced"
        for release in RELEASES
    }
    assert verdicts(run) == expected
    assert list(verdicts(run)) == [f"numpy-{release}" for release in reversed(RELEASES)]
    assert run["verdict"] == "reproduced"
    environments = run["environments"]
    assert isinstance(environments, dict)
    assert {environment["package.numpy"] for environment in environments.values()} == set(RELEASES)


def test_the_version_of_the_report_is_run_beside_the_newest(home: Path) -> None:
    by_version = verdicts(reproduce(home, REPORT, "--repeats", "3"))
    assert list(by_version) == [f"numpy-{RELEASES[-1]}", f"numpy-{RELEASES[0]}"]


def test_a_package_that_is_missing_is_added_or_named(home: Path) -> None:
    report = (
        "```python\nimport numpy as np, einops\n"
        "print(einops.rearrange(np.arange(4), '(a b) -> a b', a=2).shape)\n```\n"
        "It prints (2, 2).\n"
    )
    missing = reproduce(home, report, "--target", f"cpu@numpy-{RELEASES[-1]}")
    assert missing["verdict"] == "cannot_show"
    assert "einops" in str(missing["summary"])
    added = reproduce(
        home, report, "--target", f"cpu@numpy-{RELEASES[-1]}", SAMEHERE_PACKAGES_ALLOWED="einops"
    )
    assert verdicts(added) == {f"numpy-{RELEASES[-1]}+einops": "reproduced"}
