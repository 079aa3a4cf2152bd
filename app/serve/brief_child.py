"""Runs a step in a child process that ends with it, so that the modules of the step take no memory later."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable

from app import errors
from app.errors import SamehereError

FAILED = 1
REFUSED = 2


def in_child(step: Callable[[], object]) -> None:
    """Run a step in a fork of this process, and wait for it. Raises its SamehereError.

    The step starts no server, since a server dies with the process that started it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _run(step, write)
    os.close(write)
    try:
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    if os.waitstatus_to_exitcode(status) == REFUSED:
        facts = json.loads(answer)
        kind: type[SamehereError] = getattr(errors, facts["kind"])
        raise kind(facts["message"], code=facts["code"])
    if status != 0:
        raise errors.SetupError("a step of the start failed; the lines above say why")


def _run(step: Callable[[], object], write: int) -> None:
    status = FAILED
    try:
        step()
        status = 0
    except SamehereError as error:
        facts = {"kind": type(error).__name__, "message": error.message, "code": error.code}
        os.write(write, json.dumps(facts).encode())
        status = REFUSED
    except BaseException:  # noqa: BLE001  # the end of the process: its parent gets the status
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
