"""A sandbox that was started and waits for the program's configuration; sends that configuration."""

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

# High enough that a program's own files get the same numbers as without it.
REPORT_FD = 63
_PLACEHOLDER = b"@REPORT_FD@"
_HARNESS_CONFIG = "/run/samehere/harness.json"
_READY_SECONDS = 30.0
_MOST_FOLDERS = 8
_STDERR_BYTES = 1 << 12

INIT_SOURCE = Path(__file__).with_name("init.py")

_BASE_VARIABLES = {"HOME": "/home/u", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "USER": "u", "LOGNAME": "u"}  # noqa: S108


class Launcher(Protocol):
    """The process that was started on the host and ends with the sandbox, like `subprocess.Popen`."""

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


class Backend(Protocol):
    """Starts jobs up to the point where pid 1 waits for its configuration, and kills them."""

    def start(self, job: SandboxJob) -> Launch: ...
    def kill(self, started: Launch) -> None: ...


@dataclass(slots=True)
class Launch:
    """The started process, pid 1 of the sandbox (id on the host, pidfd), and our ends of its channels.

    `folders`: path-only descriptors of the sandbox's writable folders.
    """

    process: Launcher
    init_pid: int
    init_fd: int
    control: socket.socket
    stdout: int
    stderr: int
    report: int
    # The descriptor of the report channel's other end in pid 1.
    report_inside: int
    folders: list[int] = field(default_factory=list)

    def close(self) -> None:
        """Close every descriptor. This ends no process."""
        self.control.close()
        for fd in (self.init_fd, self.stdout, self.stderr, self.report, *self.folders):
            os.close(fd)
        self.folders.clear()


@dataclass(slots=True)
class Channels:
    """Both ends of the channels between the node and the sandbox, while the sandbox starts.

    `ours` and `theirs` are descriptors of stdout, stderr and the report channel, in this order.
    """

    ours: list[int]
    theirs: list[int]
    control: socket.socket
    their_control: socket.socket

    @classmethod
    def make(cls) -> Channels:
        """Create pipes for stdout, stderr and the report, and a socket for the control channel."""
        control, their_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Celery sets a default timeout while it shuts down. With it, a read in pid 1 would return at once.
        for end in (control, their_control):
            end.setblocking(True)
        pipes = [os.pipe() for _ in range(3)]
        for reading, _ in pipes:
            os.set_blocking(reading, False)
        # A program that the script executes may open the report
        # channel again under /proc, with the slot's uid.
        os.fchmod(pipes[2][1], 0o602)
        return cls(
            [reading for reading, _ in pipes], [writing for _, writing in pipes], control, their_control
        )

    def close_theirs(self) -> None:
        """Close the sandbox's ends in this process, after the start."""
        self.their_control.close()
        for fd in self.theirs:
            os.close(fd)
        self.theirs = []

    def close(self) -> None:
        """Close all ends, after a failed start."""
        self.close_theirs()
        self.control.close()
        for fd in self.ours:
            os.close(fd)


def memory_file(data: bytes) -> int:
    """A descriptor of a file in memory with this content, at its beginning."""
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
    """All environment variables of the program. `program`: its path if that differs from the job's."""
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
    """The job's files, content by path, with the number of the report channel in the harness's config."""
    number = str(REPORT_FD).encode()
    return {
        path: data.replace(_PLACEHOLDER, number) if path == _HARNESS_CONFIG else data
        for path, data in job.files.items()
    }


def await_ready(launch: Launch) -> None:
    """Wait until pid 1 is ready. Raises SetupError with the launcher's error message if it ends before."""
    readable, _, _ = select.select([launch.control], [], [], _READY_SECONDS)
    if not readable:
        raise SetupError(f"the sandbox did not start within {_READY_SECONDS:.0f} s")
    message, folders, _, _ = socket.recv_fds(launch.control, 64, _MOST_FOLDERS)
    launch.folders += folders
    if message != b"ready":
        launch.process.wait(_READY_SECONDS)
        raise SetupError(f"the sandbox could not be set up: {read_error(launch.stderr)}")


def read_error(stderr: int) -> str:
    """The launcher's error message, read for up to a second.

    The program must not run yet: its output is untrusted.
    """
    deadline = time.monotonic() + 1.0
    text = b""
    while time.monotonic() < deadline and len(text) < _STDERR_BYTES:
        if not select.select([stderr], [], [], 0.1)[0]:
            continue
        chunk = os.read(stderr, _STDERR_BYTES)
        if not chunk:
            break
        text += chunk
    return text.decode(errors="replace").strip() or "it ended without a message"


def hand_over(
    launch: Launch,
    *,
    argv: Sequence[str],
    variables: Mapping[str, str],
    folder: str,
    limits: Mapping[int, tuple[int, int]],
) -> None:
    """Send the configuration, which starts the program.

    `limits`: soft and hard value by resource. Raises SetupError.
    """
    # pid 1 sets the limits: setting them from here would
    # need CAP_SYS_RESOURCE, which root in a container lacks.
    limit_texts = " ".join(f"{kind}:{soft}:{hard}" for kind, (soft, hard) in limits.items())
    fields = [
        limit_texts,
        str(launch.report_inside),
        str(REPORT_FD),
        folder,
        str(len(argv)),
        *argv,
        *(f"{name}={value}" for name, value in variables.items()),
    ]
    if any("\0" in text for text in fields):
        raise SetupError("an argument or a variable contains a NUL character")
    try:
        launch.control.send("\0".join(fields).encode(errors="surrogateescape"))
    except OSError as error:
        raise SetupError(f"could not send the configuration to the sandbox: {error.strerror}") from error
