"""Hands the words of `samehere node`, `toolchain` and `doctor` on to `python -m worker`, which takes this process over."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from app.errors import SetupError

# How the node's command line calls itself in its help.
PROGRAM_VARIABLE = "SAMEHERE_PROGRAM"


def become_worker(words: Sequence[str]) -> NoReturn:
    """Never returns. Raises SetupError where nodes can't run."""
    if sys.platform != "linux":
        raise SetupError(
            "Nodes run on Linux only. Elsewhere: samehere read, samehere reproduce --server URL, samehere serve --no-node."
        )
    missing = [name for name in ("psutil", "celery") if importlib.util.find_spec(name) is None]
    if missing:
        raise SetupError(
            f"The node is not installed here ({', '.join(missing)}): pip install 'samehere[node]'."
        )
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(  # noqa: S606  # the same interpreter, and words instead of a shell's line
        sys.executable, [sys.executable, "-m", "worker", *words], {**os.environ, PROGRAM_VARIABLE: "samehere"}
    )
