"""A whole service with two versions of a package: the verdict comes, and then the contrast."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_service import Service, own_uids, service_environment, start_service, stop_service
from tiny_wheels import make_wheel

from worker.sandbox.isolation import private_mounts

pytestmark = [pytest.mark.sandbox, pytest.mark.service]
# The uid of the first slot, where the node is root.
SLOT_UID = int(own_uids()["SAMEHERE_FIRST_UID"])
SCRIPT = "import tinypack\nassert tinypack.VERSION != '2.0', 'it is the new one'\nprint('fine')\n"
CLAIM = "AssertionError: it is the new one"


@pytest.fixture
def two_versions(home: Path) -> Iterator[Service]:
    """A service on a machine with two versions of one package."""
    own = str(Path(sys.executable).resolve())
    readable = next(
        (one for one in (own, "/usr/bin/python3") if private_mounts.readable(one, uid=SLOT_UID)), None
    )
    if readable is None:
        pytest.skip("no Python here that every user can read")
    environment = {**service_environment(home), "SAMEHERE_TOOLCHAINS": str(home / "toolchains")}
    for version in ("1.0", "2.0"):
        folder = home / f"venv-{version}"
        wheel = make_wheel(home / "wheels", "tinypack", version)
        subprocess.run([readable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (packages,) = folder.glob("lib/python3*/site-packages")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(packages)], check=True)
        adopt = ("toolchain", "adopt", f"tiny-{version}", "--python", str(folder / "bin/python"))
        subprocess.run([sys.executable, "-P", "-m", "app.cli", *adopt], env=environment, check=True)
    running = start_service(home, environment={"SAMEHERE_TOOLCHAINS": str(home / "toolchains")})
    yield running
    stop_service(running)


def test_the_contrast_follows_the_verdict(two_versions: Service) -> None:
    run = _ask(two_versions, "/api/v1/runs", {"script": SCRIPT, "claim": CLAIM}, wait=30)
    assert run["verdict"] == "reproduced", run
    ended = run["finished_at"]
    assert [job["target"]["toolchain"] for job in run["jobs"]] == ["tiny-2.0", "tiny-1.0"]
    assert run["contrast"]["added"] == "cpu@tiny-1.0"
    deadline = time.monotonic() + 60
    while run["contrast"]["is_open"] and time.monotonic() < deadline:
        time.sleep(0.2)
        run = _ask(two_versions, f"/api/v1/runs/{run['id']}")
    assert run["contrast"] == {
        "kind": "target",
        "target": "cpu@tiny-1.0",
        "added": "cpu@tiny-1.0",
        "is_open": False,
    }
    assert (run["state"], run["verdict"], run["finished_at"]) == ("finished", "reproduced", ended)
    extra = run["jobs"][1]
    assert (extra["is_contrast"], extra["verdict"], extra["of"]) == (True, "not_reproduced", 3)
    assert len([one for one in extra["attempts"] if one["kind"] == "repeat"]) == 3
    assert "It does not happen on <code>cpu@tiny-1.0</code>" in _page(two_versions, run["id"])


def _ask(service: Service, path: str, body: object = None, *, wait: int = 0) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - our own
        service.url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **({"Prefer": f"wait={wait}"} if wait else {})},
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - our own
        answer: dict[str, Any] = json.load(response)
    return answer


def _page(service: Service, run_id: str) -> str:
    with urllib.request.urlopen(f"{service.url}/runs/{run_id}", timeout=30) as response:  # noqa: S310 - our own
        text: str = response.read().decode()
    return text
