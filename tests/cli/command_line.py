"""Runs the command line as a process, the way a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from running_service import own_uids

ROOT = Path(__file__).parents[2]
COMMAND_SECONDS = 200


def samehere(
    *words: str | bytes, environment: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run `samehere` with these words."""
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", *words],
        cwd=ROOT,
        env=dict(environment),
        input=stdin,
        capture_output=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode()
    )


def bare_environment(home: Path) -> dict[str, str]:
    """The environment of an empty home. A command that reaches the node says that there is no toolchain."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SAMEHERE_")}
    return {
        **inherited,
        **own_uids(),
        "SAMEHERE_HOME": str(home),
        "SAMEHERE_LOCKS": str(home / "locks"),
        "SAMEHERE_TOOLCHAINS": str(home / "none"),
    }
