"""A started sandbox whose program waits for its configuration, and how that is handed over."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from worker.sandbox.errors import SetupError
from worker.sandbox.job import SandboxJob

# High enough not to shift the numbers that a program's own files get.
REPORT_FD = 63
_PLACEHOLDER = b"@REPORT_FD@"
_HARNESS_CONFIG = "/run/samehere/harness.json"
_READY_SECONDS = 30.0
_MOST_FOLDERS = 8
_STDERR_BYTES = 1 << 12

INIT_SOURCE = Path(__file__).with_name("init.py")

_BASE_VARIABLES = {"HOME": "/home/u", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "USER": "u", "LOGNAME": "u"}  # noqa: S108


class Launcher(Protocol):
    """What was started on the host and ends with the sandbox."""

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


class Backend(Protocol):
    """Starts jobs, each up to the point where pid 1 waits for its configuration, and kills them."""

    def start(self, job: SandboxJob) -> Launch: ...
    def kill(self, started: Launch) -> None: ...


@dataclass(slots=True)
class Launch:
    """The process that was started, pid 1 of the sandbox, and our ends of its channels."""

    process: Launcher
    init_pid: int
    init_fd: int
    control: socket.socket
    stdout: int
    stderr: int
    report: int
    # The number of the report channel's other end in pid 1.
    report_inside: int
    folders: list[int] = field(default_factory=list)

    def close(self) -> None:
        """Close every descriptor; the processes are the supervision's business."""
        self.control.close()
        for fd in (self.init_fd, self.stdout, self.stderr, self.report, *self.folders):
            os.close(fd)
        self.folders.clear()


@dataclass(slots=True)
class Channels:
    """Both ends of the channels between supervision and sandbox, while the sandbox is being started."""

    ours: list[int]
    theirs: list[int]
    control: socket.socket
    their_control: socket.socket

    @classmethod
    def make(cls) -> Channels:
        """Pipes for stdout, stderr and report; a socket for the control."""
        control, their_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Celery sets a default timeout while it shuts down, which would make pid 1's end return at once.
        for end in (control, their_control):
            end.setblocking(True)
        pipes = [os.pipe() for _ in range(3)]
        for reading, _ in pipes:
            os.set_blocking(reading, False)
        # A process that the program executed may open the report anew under /proc, with the slot's uid, and write.
        os.fchmod(pipes[2][1], 0o602)
        return cls(
            [reading for reading, _ in pipes], [writing for _, writing in pipes], control, their_control
        )

    def close_theirs(self) -> None:
        """After the start: only the sandbox holds them then."""
        self.their_control.close()
        for fd in self.theirs:
            os.close(fd)
        self.theirs = []

    def close(self) -> None:
        """After a failed start."""
        self.close_theirs()
        self.control.close()
        for fd in self.ours:
            os.close(fd)


def memory_file(data: bytes) -> int:
    """A descriptor with these bytes to read."""
    fd = os.memfd_create("samehere")
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def variables_of(
    job: SandboxJob,
    *,
    program: str = "",
    base: Mapping[str, str] = _BASE_VARIABLES,
    library_path: Sequence[str] = (),
) -> dict[str, str]:
    """The whole environment of the program, which may lie elsewhere than the job says."""
    variables = {
        **base,
        "PATH": f"{Path(program or job.argv[0]).parent}:/usr/local/bin:/usr/bin:/bin",
        **job.variables,
    }
    if library_path:
        variables["LD_LIBRARY_PATH"] = ":".join(
            [*library_path, *filter(None, [variables.get("LD_LIBRARY_PATH")])]
        )
    return variables


def files_of(job: SandboxJob) -> dict[str, bytes]:
    """The job's files, with the number of the report channel filled in."""
    number = str(REPORT_FD).encode()
    return {
        path: data.replace(_PLACEHOLDER, number) if path == _HARNESS_CONFIG else data
        for path, data in job.files.items()
    }


def await_ready(launch: Launch) -> None:
    """Until pid 1 says so. Raises with what the launcher printed when it ends before."""
    readable, _, _ = select.select([launch.control], [], [], _READY_SECONDS)
    if not readable:
        raise SetupError(f"the sandbox did not come up within {_READY_SECONDS:.0f} s")
    message, folders, _, _ = socket.recv_fds(launch.control, 64, _MOST_FOLDERS)
    launch.folders += folders
    if message != b"ready":
        launch.process.wait(_READY_SECONDS)
        raise SetupError(f"the sandbox could not be set up: {printed(launch.stderr)}")


def printed(stderr: int) -> str:
    """What the launcher had to say; nothing of the program runs yet."""
    deadline = time.monotonic() + 1.0
    text = b""
    while time.monotonic() < deadline and len(text) < _STDERR_BYTES:
        if not select.select([stderr], [], [], 0.1)[0]:
            continue
        chunk = os.read(stderr, _STDERR_BYTES)
        if not chunk:
            break
        text += chunk
    return text.decode(errors="replace").strip() or "it ended without a word"


def hand_over(
    launch: Launch,
    *,
    argv: Sequence[str],
    variables: Mapping[str, str],
    folder: str,
    limits: Mapping[int, tuple[int, int]],
) -> None:
    """Send the configuration: the program starts."""
    # Set from inside: from outside it takes CAP_SYS_RESOURCE, which root in a container lacks.
    wanted = " ".join(f"{kind}:{soft}:{hard}" for kind, (soft, hard) in limits.items())
    fields = [
        wanted,
        str(launch.report_inside),
        str(REPORT_FD),
        folder,
        str(len(argv)),
        *argv,
        *(f"{name}={value}" for name, value in variables.items()),
    ]
    if any("\0" in text for text in fields):
        raise SetupError("an argument or a variable holds a NUL")
    try:
        launch.control.send("\0".join(fields).encode(errors="surrogateescape"))
    except OSError as error:
        raise SetupError(f"the configuration could not be handed over: {error.strerror}") from error
