"""`samehere serve --demo`: a real service beside the ordinary one, that begins with what was recorded."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from running_service import Service, start_service, stop_service

from app.errors import SetupError
from app.serve.demo import HISTORY, demo_environment, demo_settings
from app.settings import ServiceSettings

RECORDED = len(list(HISTORY.glob("*/*.json.gz")))


def call(service: Service, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310
        f"{service.url}{path}", data=data, headers={"Content-Type": "application/json"}
    )  # our own
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310  # our own
        return json.load(answer)


def runs(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call(service, "/api/v1/runs?limit=200")["items"]
    return found


@pytest.mark.service
@pytest.mark.usefixtures("toolchain")
def test_it_starts_with_the_history_and_what_is_submitted_runs_here(home: Path) -> None:
    service = start_service(home, "--demo", environment={"SAMEHERE_WARM": "false"})
    try:
        assert f'"runs": {RECORDED}, "event": "history_added"' in service.log.read_text()
        assert len(runs(service)) == RECORDED
        with urllib.request.urlopen(service.url, timeout=20) as answer:  # noqa: S310  # our own
            page = answer.read().decode()
        assert "<strong>Demo.</strong>" in page
        assert "numpy-2.4.0" in page
        sent = call(
            service, "/api/v1/runs", {"script": "print(6 * 7)", "claim": "prints 42", "preset": "quick"}
        )
        deadline = time.monotonic() + 90
        while (run := call(service, f"/api/v1/runs/{sent['id']}"))["state"] != "finished":
            assert time.monotonic() < deadline, run["state"]
            time.sleep(0.3)
        assert run["verdict"] == "reproduced"
        states = {node["name"]: node["state"] for node in call(service, "/api/v1/nodes")["items"]}
        assert states.pop("local") == "ready"
        assert set(states.values()) == {"away"}
        # The history is not run again on the reader's machine.
        assert len(runs(service)) == RECORDED + 1
    finally:
        assert stop_service(service) == 0
    again = start_service(home, "--demo", "--no-node")
    try:
        assert '"runs": 0, "event": "history_added"' in again.log.read_text()
        assert len(runs(again)) == RECORDED + 1
    finally:
        assert stop_service(again) == 0
    folders = sorted(path.name for path in home.iterdir() if path.is_dir() and path.name != "locks")
    # The cache is the link that the tests made.
    assert folders == ["cache", "demo"]
    assert [path.name for path in (home / "cache").iterdir()] == ["environments"]


@pytest.mark.parametrize("given", [{"database_url": "postgresql://h/real"}, {"broker_url": "redis://h"}])
def test_it_keeps_off_the_servers_of_a_real_instance(given: dict[str, str]) -> None:
    with pytest.raises(SetupError, match="unset SAMEHERE_DATABASE_URL"):
        demo_settings(ServiceSettings(**given))  # type: ignore[arg-type]  # as from the environment


def test_its_home_lies_below_the_ordinary_one_and_shares_its_toolchains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SAMEHERE_RERUN", raising=False)
    made = demo_settings(ServiceSettings(home=Path("/srv/samehere")))
    assert (made.home, made.demo, made.rerun) == (Path("/srv/samehere/demo"), True, False)
    told = demo_environment(made, {"PATH": "/bin"})
    assert told == {
        "PATH": "/bin",
        "SAMEHERE_DEMO": "true",
        "SAMEHERE_RERUN": "false",
        "SAMEHERE_TOOLCHAINS": "/srv/samehere/toolchains",
    }
    assert demo_environment(made, {"SAMEHERE_TOOLCHAINS": "/t"})["SAMEHERE_TOOLCHAINS"] == "/t"
    monkeypatch.setenv("SAMEHERE_RERUN", "true")
    assert demo_settings(ServiceSettings()).rerun
