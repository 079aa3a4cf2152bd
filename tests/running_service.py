"""Starts and ends a whole `samehere serve` for tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from worker.contract.home import default_home

# Read once, before a test hides the settings of its caller.
SHARED_TOOLCHAINS = Path(
    os.environ.get("SAMEHERE_TOOLCHAINS")
    or Path(os.environ.get("SAMEHERE_HOME") or default_home()) / "toolchains"
)
READY_SECONDS = 90.0
# Names the folder in which all nodes of one test run keep recorded environments.
ENVIRONMENTS_VARIABLE = "TESTS_ENVIRONMENTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running `samehere serve`."""

    url: str
    home: Path
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a `samehere` command that works on this service's home."""
        return service_environment(self.home)


def share_environments(home: Path) -> None:
    """Let the nodes of a home use the environments that others of this test run have recorded.

    A recorded environment is found by all that it depends on, so a node may take it from any home.
    Recording one costs a start of torch.
    """
    folder = os.environ.get(ENVIRONMENTS_VARIABLE)
    link = home / "cache" / "environments"
    if folder is not None and not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        link.symlink_to(folder, target_is_directory=True)


def own_uids() -> dict[str, str]:
    """Uids for the slots of the nodes that this process starts, apart from those of other test processes.

    They have other locks. At the level Landlock, a slot ends all processes of its uid.
    """
    return {"SAMEHERE_FIRST_UID": str(20_000 + 100 * (os.getpid() % 250))}


def service_environment(home: Path) -> dict[str, str]:
    """An environment for `samehere` commands: own home, shared toolchains and recorded environments."""
    share_environments(home)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SAMEHERE_")}
    own = {
        "SAMEHERE_HOME": str(home),
        "SAMEHERE_LOCKS": str(home / "locks"),
        "SAMEHERE_TOOLCHAINS": str(SHARED_TOOLCHAINS),
    }
    # Tests must not grow the shared toolchains, and count attempts without canaries.
    own["SAMEHERE_CANARY_SECONDS"] = "0"
    return {**kept, **own, **own_uids(), "SAMEHERE_PACKAGES_ALLOWED": "", "PYTHONUNBUFFERED": "1"}


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def start_service(
    home: Path, *options: str, environment: dict[str, str] | None = None, folder: Path | None = None
) -> Service:
    """Start `samehere serve` in a folder and wait until it is ready; fails with the end of its log."""
    port = free_port()
    log = home / "serve.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.serve", "--port", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**service_environment(home), **(environment or {})},
            start_new_session=True,
            cwd=folder,
        )
    service = Service(url=f"http://127.0.0.1:{port}", home=home, log=log, process=process)
    deadline = time.monotonic() + READY_SECONDS
    # An operator waits for this line; the web answers a moment earlier.
    said = f"samehere is ready on {service.url}"
    while time.monotonic() < deadline and process.poll() is None:
        if said in log.read_text(errors="replace") and is_ready(service.url):
            return service
        time.sleep(0.1)
    stop_service(service)
    pytest.fail(
        f"`samehere serve` did not get ready (status {process.returncode}):\n"
        f"{log.read_text(errors='replace')[-6000:]}"
    )


def is_ready(url: str) -> bool:
    """Whether /readyz answers 200."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as response:  # noqa: S310  # our own
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def stop_service(service: Service) -> int:
    """End a service properly; its exit status."""
    if service.process.poll() is None:
        service.process.send_signal(signal.SIGTERM)
    try:
        return service.process.wait(60)
    except subprocess.TimeoutExpired:
        service.process.kill()
        return service.process.wait(10)
