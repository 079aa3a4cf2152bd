"""The process that forks: `main(["FD", "MODULE", …])`. It imports the modules before the first fork.

A fork shares the imported code, answers one call after the other, and needs no start for them. The kernel
ends a fork that is over a limit, whatever it is doing; the next call gets a new one.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import pickle
import resource
import signal
import socket
import sys
from pathlib import Path

from app.bounded.frames import Answer, CallLimits, receive_frame, send_frame

# The limit of waiting, as a multiple of the limit of processor time.
_WALL_FACTOR = 4


def serve(control: socket.socket) -> None:
    """Fork for every socket that arrives, until the other side has gone away."""
    # The kernel reaps the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    control.sendall(b"r")
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        with socket.socket(fileno=descriptors[0]) as connection:
            if os.fork() == 0:
                control.close()
                _answer_all(connection)


def _answer_all(connection: socket.socket) -> None:
    """Answer calls until the other side has gone away, and end. It never returns."""
    try:
        mapped = _mapped_bytes()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        while True:
            limits, call = pickle.loads(receive_frame(connection))  # noqa: S301 - from our own parent
            _begin(limits, mapped)
            answer = _result(call)
            signal.setitimer(signal.ITIMER_REAL, 0)
            send_frame(connection, _to_bytes(answer))
            if answer.out_of_memory:
                break
    except EOFError:
        pass
    finally:
        os._exit(0)


def _to_bytes(answer: Answer) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - a value or an error that can't travel is our own mistake
        return pickle.dumps(Answer(error=RuntimeError(f"the answer can't be sent: {error}")))


def _result(call: bytes) -> Answer:
    try:
        function, arguments, keywords = pickle.loads(call)  # noqa: S301 - from our own parent
        return Answer(value=function(*arguments, **keywords))
    except MemoryError:
        return Answer(out_of_memory=True)
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return Answer(error=error)


def _begin(limits: CallLimits, mapped: int) -> None:
    """Set the limits of the next call. They count from now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = math.ceil(used.ru_utime + used.ru_stime + limits.seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
    most = mapped + limits.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    # Processor time does not pass while a process waits. This ends one that waits, or that is starved.
    signal.setitimer(signal.ITIMER_REAL, limits.seconds * _WALL_FACTOR)


def _mapped_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def main(arguments: list[str]) -> int:
    """Serve calls from the socket with this descriptor. Each fork has the modules that are named."""
    # A signal for the whole group, such as Ctrl+C, is for the parent; without the parent this ends by itself.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for name in arguments[1:]:
        importlib.import_module(name)
    with socket.socket(fileno=int(arguments[0])) as control:
        serve(control)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
