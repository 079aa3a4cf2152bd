"""A busy service with faults, and secrets planted wherever one goes in: none of them comes out again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import httpx2
import psutil
import pytest
from running_service import start_service, stop_service

pytestmark = pytest.mark.service

TOKEN = "sh_planted_api_token_1234567890"
SCRIPT_TEXT = "planted_script_marker"
REPORT_TEXT = "planted-report-marker"
BODY = {
    "report": f"Title {REPORT_TEXT}\n\n```python\nprint('{SCRIPT_TEXT}')\n```\nIt prints `{SCRIPT_TEXT}x`.",
}


def of_home(home: Path) -> list[psutil.Process]:
    """The processes of a service."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(home) in " ".join(process.cmdline()) or process.environ().get("SAMEHERE_HOME") == str(
                home
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def show(process: psutil.Process) -> tuple[str, str]:
    """The command line and the environment of a process."""
    folder = Path(f"/proc/{process.pid}")
    try:
        return (folder / "cmdline").read_text(errors="replace"), (folder / "environ").read_text(
            errors="replace"
        )
    except OSError:
        return "", ""


def test_no_secret_comes_out_of_a_busy_service(home: Path) -> None:
    service = start_service(home, "--no-node")
    try:
        passwords = list(json.loads((home / "postgres" / "passwords.json").read_text()).values())
        with httpx2.Client(base_url=service.url, timeout=60) as client:
            run = client.post("/api/v1/runs", json=BODY, headers={"X-Request-ID": "our-request"}).json()
            secret = run["withdraw_url"].rpartition("/")[2]
            pages = [client.get("/metrics").text]
            for path in ("/api/v1/runs", "/maintain", f"/runs/{run['id']}"):
                pages += [client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).text]
            (server,) = [one for one in of_home(home) if one.name() == "postgres" and one.ppid() != 1][:1]
            os.kill(server.pid, signal.SIGKILL)
            for path in (f"/withdraw/{secret}", "/", "/api/v1/runs", "/metrics", "/readyz"):
                pages += [client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).text]
            shapes = [show(process) for process in of_home(home)]
            pages.append(client.get("/metrics").text)
    finally:
        stop_service(service)

    secrets = [*passwords, TOKEN, secret]
    log = service.log.read_text(errors="replace")
    files = [path.read_text(errors="replace") for path in home.rglob("*.log")]
    for word in (*secrets, SCRIPT_TEXT, REPORT_TEXT):
        assert word not in log
        assert not [text for text in files if word in text]
        assert not [command for command, _environment in shapes if word in command]
    for word in secrets:
        assert not [page for page in pages if word in page]
    for word in (TOKEN, secret, SCRIPT_TEXT, REPORT_TEXT):
        assert not [environment for _command, environment in shapes if word in environment]

    lines = [json.loads(line) for line in log.splitlines() if not line.startswith("samehere is ready on ")]
    assert {"web", "serve", "postgres"} <= {line["process"] for line in lines}
    requests = [line for line in lines if line["event"] == "request"]
    assert "/withdraw/{secret}" in {line["route"] for line in requests}
    assert [line for line in requests if line["request_id"] == "our-request" and line["status"] == 202]
    assert [line for line in lines if "traceback" in line] == []
