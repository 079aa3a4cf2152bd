"""`samehere node`, `toolchain` and `doctor`: this process becomes `python -m worker`, with the same words."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from app.errors import SetupError
from app.extras import require_node
from worker.contract.own_process import own_environment, python_command

# The worker's help shows this name of the program.
PROGRAM_VARIABLE = "SAMEHERE_PROGRAM"


def become_worker(words: Sequence[str]) -> NoReturn:
    """Replace this process by the worker; never returns. Raises SetupError if nodes can't run here."""
    if sys.platform != "linux":
        raise SetupError(
            "Nodes run on Linux only. "
            "Elsewhere: samehere read, samehere reproduce --server URL, samehere serve --no-node."
        )
    require_node()
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = python_command("-m", "worker", *words)
    # The program is this interpreter, and no shell reads the words.
    os.execve(arguments[0], arguments, {**own_environment(), PROGRAM_VARIABLE: "samehere"})  # noqa: S606
