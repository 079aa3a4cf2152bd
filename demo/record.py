"""Record the history of the demo again: `python demo/record.py HOME`.

HOME is an empty folder for a service of its own.

The service runs the reports as they come, and again by itself when a toolchain comes. No line here says what
changed. It needs an index of packages, and some minutes.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "app" / "history" / "lab-cpu"
# The reports that come in before each version of numpy.
STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "1.26.4",
        (
            "arange_point_three",
            "shuffle_sometimes",
            "table_of_a_colleague",
            "trim_zeros_2d",
            "unique_nan_rows",
        ),
    ),
    (
        "2.0.2",
        (
            "copy_false_raises",
            "inverse_of_unique",
            "solve_of_a_stack",
            "uint8_wraps_around",
            "power_of_a_half",
        ),
    ),
    ("2.1.3", ("clip_beyond_uint8", "median_of_measurements")),
    ("2.2.6", ("masked_uint8_fill", "sum_depends_on_order")),
    ("2.3.5", ("one_element_to_float", "sum_of_a_generator")),
    ("2.4.0", ("flat_takes_a_float", "in1d_is_gone", "reshape_newshape", "trapz_is_gone")),
)
URL = f"http://127.0.0.1:{os.environ.get('PORT', '8763')}"
QUIET_SECONDS = 20
READY_SECONDS = 120


def call(path: str, body: dict[str, Any] | None = None) -> Any:
    """One request to the service."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}{path}", data=data, headers={"Content-Type": "application/json"})  # noqa: S310  # our own
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # our own
        return json.load(answer)


@contextlib.contextmanager
def service(environment: dict[str, str]) -> Iterator[None]:
    """A service that is ready, and that reruns every report at once when a toolchain comes."""
    quick = {"SAMEHERE_PREVIEW": "false", "SAMEHERE_RERUN_SECONDS": "2", "SAMEHERE_RERUN_AT_ONCE": "4"}
    words = [sys.executable, "-P", "-m", "app.cli", "serve", "--port", URL.rpartition(":")[2]]
    process = subprocess.Popen(words, env={**environment, **quick})
    try:
        for _ in range(READY_SECONDS):
            time.sleep(1)
            with contextlib.suppress(OSError):
                call("/readyz")
                break
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def runs() -> list[dict[str, Any]]:
    """All runs of the service."""
    found, cursor = [], ""
    while True:
        page = call(f"/api/v1/runs?limit=100{cursor}")
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def settle() -> None:
    """Wait until no run has been open for a while."""
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_SECONDS:
        if any(run["state"] in {"queued", "running"} for run in runs()):
            quiet_since = time.monotonic()
        time.sleep(1)


def main(home: str) -> None:
    """Record each version in turn; then write every run as a bundle."""
    environment = {**os.environ, "SAMEHERE_HOME": home, "SAMEHERE_TOOLCHAINS": f"{home}/toolchains"}

    def add(version: str) -> None:
        words = ["toolchain", "add", f"numpy-{version}", f"numpy=={version}"]
        subprocess.run([sys.executable, "-P", "-m", "app.cli", *words], env=environment, check=True)

    add(STAGES[0][0])
    with service(environment):
        for place, (version, _) in enumerate(STAGES):
            if place:
                add(version)
                settle()
            coming = STAGES[place + 1][1] if place + 1 < len(STAGES) else ()
            for name in (*STAGES[0][1], *coming) if place == 0 else coming:
                call("/api/v1/runs", {"report": (HERE / "reports" / f"{name}.md").read_text()})
            settle()
        RECORDED.mkdir(parents=True, exist_ok=True)
        for run in runs():
            bundle = json.dumps(call(f"/api/v1/runs/{run['id']}/bundle"), sort_keys=True).encode()
            (RECORDED / f"{run['id']}.json.gz").write_bytes(gzip.compress(bundle, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
