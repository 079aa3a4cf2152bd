"""Runs a job as a plain process with limits and a scratch folder, without isolation."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from worker.sandbox.errors import SetupError
from worker.sandbox.isolation import gpu, private_mounts
from worker.sandbox.isolation.bubblewrap import Identity
from worker.sandbox.job import SandboxJob
from worker.sandbox.process import launch
from worker.sandbox.process.launch import Channels, Launch
from worker.sandbox.resources import processes
from worker.sandbox.resources.memory import MemoryWatch

_KILL_SECONDS = 3.0
_SYSTEM_PYTHON = "/usr/bin/python3"


class Plain:
    """Starts jobs of one slot. The scratch folder of a job has the sandbox's own paths below it."""

    def __init__(self, *, identity: Identity) -> None:
        self._identity = identity
        self.scratch: Path | None = None

    def inside(self, path: str) -> str:
        """The path on the host of a path inside the sandbox."""
        return path if self.scratch is None else str(self.scratch) + path

    def program(self, job: SandboxJob) -> tuple[tuple[str, ...], dict[str, str], str]:
        """The program's arguments, variables and working folder, with paths on the host.

        Raises SetupError.
        """
        uid = self._identity.uid
        program = on_the_host(job.argv[0], job)
        if uid is not None and Path(program).exists() and not private_mounts.readable(program, uid=uid):
            raise SetupError(
                f"the uid of the slot ({uid}) can't read {os.path.realpath(program)}, and without namespaces "
                "the sandbox can't show it: put toolchains and their Python where every user can read them, "
                "such as /opt, or run the node as another user than root"
            )
        files = {path: self.inside(path) for path in job.files}
        library_path = gpu.driver().library_path if gpu.is_nvidia(job.devices) else ()
        folders = {"HOME": self.inside("/home/u"), "TMPDIR": self.inside("/tmp")}  # noqa: S108
        base = {**folders, "LANG": "C.UTF-8", "USER": "u", "LOGNAME": "u"}
        argv = (program, *(files.get(argument, argument) for argument in job.argv[1:]))
        variables = launch.variables_of(job, program=program, base=base, library_path=library_path)
        return argv, variables, self.inside(job.working_directory)

    def start(self, job: SandboxJob) -> Launch:
        """Start the job up to the point where the program's parent waits for its configuration.

        Raises SetupError.
        """
        self.scratch = self._make_scratch(job)
        channels = Channels.make()
        stdout, stderr, report = channels.theirs
        python, variables = _interpreter(self._identity.effective)
        init = self.scratch / "init.py"
        uid = self._identity.uid
        try:
            process = subprocess.Popen(
                [
                    python,
                    "-I",
                    "-S",
                    "-E",
                    str(init),
                    str(channels.their_control.fileno()),
                    "open",
                    *self._init_arguments(self.scratch),
                ],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[channels.their_control.fileno(), report],
                env=variables,
                cwd=self.scratch,
                umask=0o022,
                start_new_session=True,
                user=uid,
                group=uid,
                extra_groups=None if uid is None else [],
            )
        except (OSError, subprocess.SubprocessError) as error:
            channels.close()
            self.clean()
            raise SetupError(
                f"could not start the program's parent as uid {self._identity.effective}: {error}"
            ) from error
        channels.close_theirs()
        mine = channels.ours
        return Launch(
            process,
            process.pid,
            os.pidfd_open(process.pid),
            channels.control,
            mine[0],
            mine[1],
            mine[2],
            report,
        )

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="samehere-job-"))

    def _init_arguments(self, scratch: Path) -> list[str]:
        """More arguments for the program's parent."""
        del scratch
        return []

    def memory_watch(self, memory: MemoryWatch, job: SandboxJob) -> MemoryWatch:
        """The watch unchanged."""
        del job
        return memory

    def _make_scratch(self, job: SandboxJob) -> Path:
        scratch = self._new_folder()
        contents = {**launch.files_of(job), "/init.py": launch.INIT_SOURCE.read_bytes()}
        for folder in ("/home/u", "/tmp", job.working_directory):  # noqa: S108
            Path(str(scratch) + folder).mkdir(parents=True, exist_ok=True)
        for path, data in contents.items():
            target = Path(str(scratch) + path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if self._identity.uid is not None:
            for path_in in (scratch, *scratch.rglob("*")):
                os.chown(path_in, self._identity.uid, self._identity.uid)
        return scratch

    def kill(self, started: Launch) -> None:
        """Kill the descendants of the program's parent, which also gets orphans; then the parent."""
        deadline = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < deadline:
            below = [pid for pid in processes.tree(started.init_pid) if pid != started.init_pid]
            if not below:
                break
            for pid in below:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(started.init_fd, signal.SIGKILL)

    def clean(self) -> None:
        """Remove the scratch folder.

        Files that can't be removed stay until the system cleans its temporary folder.
        """
        if self.scratch is not None:
            remove_tree(self.scratch)
            self.scratch = None


def on_the_host(path: str, job: SandboxJob) -> str:
    """The path on the host of a path that a bind shows at another place."""
    for bind in job.binds:
        if bind.source != bind.destination and Path(path).is_relative_to(bind.destination):
            return str(Path(bind.source, Path(path).relative_to(bind.destination)))
    return path


def remove_tree(folder: Path) -> None:
    """Remove a folder of any depth; with /bin/rm, since Python would exceed its recursion limit."""
    _run_quietly("/bin/rm", "-rf", "--one-file-system", "--", str(folder))
    if folder.exists():
        # A job of our own uid may have taken its rights to its own folders away.
        _run_quietly("/bin/chmod", "-R", "u+rwX", "--", str(folder))
        _run_quietly("/bin/rm", "-rf", "--one-file-system", "--", str(folder))


def _run_quietly(*command: str) -> None:
    nothing = subprocess.DEVNULL
    subprocess.run(command, env={}, cwd="/", stdout=nothing, stderr=nothing, check=False)


def _interpreter(uid: int) -> tuple[str, dict[str, str]]:
    """A Python that the uid can read, and the variables that it needs: this node's or else the system's.

    Raises SetupError if there is none.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    try:
        prefix = private_mounts.show(sys.base_prefix, uid=uid)
    except SetupError:
        if not Path(_SYSTEM_PYTHON).exists():
            raise
        return _SYSTEM_PYTHON, {}
    return str(Path(prefix, "bin", name)), {} if prefix == sys.base_prefix else {
        "LD_LIBRARY_PATH": f"{prefix}/lib"
    }
