"""A plain subprocess with limits and a scratch folder: no isolation at all, only for those who name it."""

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
    """Starts jobs of one slot, each in a scratch folder that stands for the sandbox's own paths."""

    def __init__(self, *, identity: Identity) -> None:
        self._identity = identity
        self.scratch: Path | None = None

    def inside(self, path: str) -> str:
        """Where a path of the sandbox lies really."""
        return path if self.scratch is None else str(self.scratch) + path

    def program(self, job: SandboxJob) -> tuple[tuple[str, ...], dict[str, str], str]:
        """Arguments, variables and folder, with the sandbox's paths replaced by those in the scratch folder."""
        uid = self._identity.uid
        program = on_the_host(job.argv[0], job)
        if uid is not None and Path(program).exists() and not private_mounts.readable(program, uid=uid):
            raise SetupError(
                f"{os.path.realpath(program)} cannot be read by the uid of the slot ({uid}), and without namespaces it cannot be shown "
                "to it: put toolchains and their Python where every user can read them, such as /opt, or run as another user than root"
            )
        written = {path: self.inside(path) for path in job.files}
        library_path = gpu.driver().library_path if gpu.is_nvidia(job.devices) else ()
        base = {
            "HOME": self.inside("/home/u"),
            "LANG": "C.UTF-8",
            "TMPDIR": self.inside("/tmp"),
            "USER": "u",
            "LOGNAME": "u",
        }  # noqa: S108
        argv = (program, *(written.get(argument, argument) for argument in job.argv[1:]))
        variables = launch.variables_of(job, program=program, base=base, library_path=library_path)
        return argv, variables, self.inside(job.working_directory)

    def start(self, job: SandboxJob) -> Launch:
        """Up to the point where the parent of the program waits for its configuration."""
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
                f"the program's parent could not be started as uid {self._identity.effective}: {error}"
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
        """What pid 1 is told besides."""
        del scratch
        return []

    def watched(self, memory: MemoryWatch, job: SandboxJob) -> MemoryWatch:
        """As it is."""
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
        """All below the program's parent, which adopts orphans, until none is left; then the parent."""
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
        """Remove the scratch folder; what resists is left to the system's own tidying of its folder for temporary files."""
        if self.scratch is not None:
            remove_tree(self.scratch)
            self.scratch = None


def on_the_host(path: str, job: SandboxJob) -> str:
    """What lies at a path that a bind would show elsewhere."""
    for bind in job.binds:
        if bind.source != bind.destination and Path(path).is_relative_to(bind.destination):
            return str(Path(bind.source, Path(path).relative_to(bind.destination)))
    return path


def remove_tree(folder: Path) -> None:
    """However deep it is: our own language would run out of stack."""
    _run_quietly("/bin/rm", "-rf", "--one-file-system", "--", str(folder))
    if folder.exists():
        # Of the same user, who need not let itself read or change its own folders.
        _run_quietly("/bin/chmod", "-R", "u+rwX", "--", str(folder))
        _run_quietly("/bin/rm", "-rf", "--one-file-system", "--", str(folder))


def _run_quietly(*command: str) -> None:
    subprocess.run(command, env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _interpreter(uid: int) -> tuple[str, dict[str, str]]:
    """This node's Python where the uid can read it, with the variables that it needs there; else the system's."""
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
