"""The policy: which system the program sees, and the start of bubblewrap as an unprivileged uid with it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.contract import MIB
from worker.sandbox.errors import SetupError
from worker.sandbox.isolation import gpu, private_mounts, seccomp
from worker.sandbox.job import Bind, SandboxJob
from worker.sandbox.process import launch
from worker.sandbox.process.launch import Channels, Launch
from worker.sandbox.resources import processes
from worker.sandbox.resources.memory import MemoryWatch

INIT_PATH = "/run/samehere/init.py"
_INFO_SECONDS = 30.0
# Of ours beside the script: a folder that the program could make writable again.
_FILES_BYTES = 16 * MIB

_ETC = {
    "/etc/passwd": (
        b"root:x:0:0:root:/root:/usr/sbin/nologin\nu:x:1000:1000:u:/home/u:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
    ),
    "/etc/group": b"root:x:0:\nu:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/hostname": b"sandbox\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    "/etc/resolv.conf": b"",
}

_NAMESPACES = (
    *(
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ),
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--clearenv", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--as-pid-1"),
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The uid that bubblewrap and the program run as on the host; None for a process that is no root and stays itself."""

    uid: int | None

    @property
    def effective(self) -> int:
        """The uid in numbers."""
        return os.geteuid() if self.uid is None else self.uid


def _system_arguments() -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for path_in_etc in ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"):
        arguments += ["--ro-bind-try", path_in_etc, path_in_etc]
    return [*arguments, "--proc", "/proc", "--dev", "/dev"]


def _bind_arguments(binds: Sequence[Bind], *, uid: int) -> list[str]:
    arguments: list[str] = []
    # Parents before what lies in them.
    for bind in sorted(dict.fromkeys(binds), key=lambda bind: bind.destination):
        if bind.source == bind.destination and bind.source.startswith("/usr/"):
            continue
        if not Path(bind.source).exists():
            raise SetupError(f"{bind.source} is not there")
        arguments += ["--ro-bind", private_mounts.show(bind.source, uid=uid), bind.destination]
    return arguments


def interpreter(job: SandboxJob) -> tuple[str, tuple[Bind, ...]]:
    """What runs our pid 1: the job's own Python, so that nothing more is shown; else the system's; else this node's."""
    if Path(job.argv[0]).name.startswith("python"):
        return job.argv[0], ()
    if Path("/usr/bin/python3").exists():
        return "/usr/bin/python3", ()
    return os.path.realpath(sys.executable), (Bind(sys.base_prefix, sys.base_prefix),)


def arguments_of(job: SandboxJob, *, uid: int, extra: Sequence[Bind] = (), nests: bool = False) -> list[str]:
    """Everything but the files and the descriptors. What `nests` may make namespaces of its own."""
    scratch = str(job.limits.scratch_bytes)
    arguments = [*_NAMESPACES, *(() if nests else ("--disable-userns",)), *_system_arguments()]
    folders = ["/sys/devices/system/cpu", "/sys/devices/system/node"]
    binds = [*job.binds, *extra]
    if gpu.is_nvidia(job.devices):
        folders = list(gpu.sys_folders())
        binds += [Bind(folder, folder) for folder in gpu.driver().folders]
    for folder in folders:
        arguments += ["--ro-bind-try", folder, folder]
    for node in gpu.nodes(job.devices):
        arguments += ["--dev-bind", node, node]
    for folder, mode in (("/tmp", "1777"), ("/dev/shm", "1777"), ("/home/u", "0700")):  # noqa: S108
        arguments += ["--size", scratch, "--perms", mode, "--tmpfs", folder]
    return arguments + _bind_arguments(binds, uid=uid)


@dataclass(slots=True)
class Opened:
    """A sandbox that came up: bubblewrap itself, and the program in it that is pid 1."""

    process: subprocess.Popen[bytes]
    init_pid: int
    init_fd: int


class Bubblewrap:
    """Starts jobs of one slot."""

    def __init__(self, binary: str, *, identity: Identity, memory_is_counted: bool) -> None:
        self._binary = binary
        self._identity = identity
        self.filter = seccomp.build_filter(memory_is_counted=memory_is_counted)

    def start(self, job: SandboxJob) -> Launch:
        """Up to the point where pid 1 waits for its configuration."""
        python, extra = interpreter(job)
        channels = Channels.make()
        control, report = channels.their_control.fileno(), channels.theirs[2]
        command = [python, "-I", "-S", "-E", INIT_PATH, str(control), "confined"]
        files = {**launch.files_of(job), INIT_PATH: launch.INIT_SOURCE.read_bytes()}
        arguments = arguments_of(job, uid=self._identity.effective, extra=extra)
        try:
            opened = self.open(command, arguments, files, channels=channels, passed=(control, report))
        except BaseException:
            channels.close()
            raise
        stdout, stderr, read_report = channels.ours
        return Launch(
            opened.process,
            opened.init_pid,
            opened.init_fd,
            channels.control,
            stdout,
            stderr,
            read_report,
            report,
        )

    def pause(
        self,
        job: SandboxJob,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        channels: Channels,
        passed: Sequence[int],
        nests: bool,
    ) -> Opened:
        """Another program in the job's place, to take jobs later. What `nests` confines its own children, and may do what that takes."""
        arguments = arguments_of(job, uid=self._identity.effective, nests=nests)
        # A fork mounts one of its own.
        arguments += (
            []
            if nests
            else ["--size", str(_FILES_BYTES), "--perms", "0755", "--tmpfs", str(Path(INIT_PATH).parent)]
        )
        return self.open(command, arguments, files, channels=channels, passed=passed, filtered=not nests)

    def open(
        self,
        command: Sequence[str],
        arguments: Sequence[str],
        files: Mapping[str, bytes],
        *,
        channels: Channels,
        passed: Sequence[int],
        filtered: bool = True,
    ) -> Opened:
        """Run a command as pid 1 of a new sandbox, with these descriptors; the caller's ends of the channels stay open on failure only."""
        memory_files: list[int] = []
        info_read, info_write = os.pipe()
        try:
            told = [*arguments]
            for path, data in {**_ETC, **files}.items():
                memory_files.append(launch.memory_file(data))
                told += ["--perms", "0644", "--file", str(memory_files[-1]), path]
            # The dev tmpfs has no size and is writable before this.
            told += ["--remount-ro", "/dev", "--remount-ro", "/"]
            if filtered:
                memory_files.append(launch.memory_file(self.filter))
                told += ["--seccomp", str(memory_files[-1])]
            told += ["--info-fd", str(info_write)]
            # By descriptor, because pid 1's command line can be read inside.
            memory_files.append(
                launch.memory_file(
                    b"".join(argument.encode(errors="surrogateescape") + b"\0" for argument in told)
                )
            )
            started = [self._binary, "--args", str(memory_files[-1]), "--", *command]
            process = self._popen(started, channels, [*memory_files, info_write, *passed])
            for fd in (info_write, *memory_files):
                os.close(fd)
            memory_files, info_write = [], -1
            channels.close_theirs()
            return _await_init(process, info_read, channels)
        finally:
            for fd in (info_read, info_write, *memory_files):
                if fd >= 0:
                    os.close(fd)

    def _popen(
        self, command: list[str], channels: Channels, passed: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        stdout, stderr, *_ = channels.theirs
        uid = self._identity.uid
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=passed,
                env={},
                cwd="/",
                umask=0o022,
                user=uid,
                group=uid,
                extra_groups=None if uid is None else [],
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SetupError(
                f"bubblewrap could not be started as uid {self._identity.effective}: {error}"
            ) from error

    @staticmethod
    def program(job: SandboxJob) -> tuple[tuple[str, ...], dict[str, str], str]:
        """Arguments, variables and folder: inside, the paths are the job's own."""
        library_path = gpu.driver().library_path if gpu.is_nvidia(job.devices) else ()
        return job.argv, launch.variables_of(job, library_path=library_path), job.working_directory

    @staticmethod
    def watched(memory: MemoryWatch, job: SandboxJob) -> MemoryWatch:
        """As it is: the scratch folders have a size."""
        del job
        return memory

    @staticmethod
    def clean() -> None:
        """Nothing is outside."""

    @staticmethod
    def kill(started: Launch) -> None:
        """Killing pid 1 of the namespace kills all that is in it, before its own end shows."""
        try:
            signal.pidfd_send_signal(started.init_fd, signal.SIGKILL)
        except ProcessLookupError:
            return


def _await_init(process: subprocess.Popen[bytes], info: int, channels: Channels) -> Opened:
    """The id of pid 1 on the host, from what bubblewrap says."""
    said = b""
    while b"}" not in said:
        if not select.select([info], [], [], _INFO_SECONDS)[0]:
            process.kill()
            break
        chunk = os.read(info, 4096)
        if not chunk:
            break
        said += chunk
    try:
        init_pid = int(_parsed(said)["child-pid"])
        init_fd = os.pidfd_open(init_pid)
        if processes.parent_of(init_pid) != process.pid:
            os.close(init_fd)
            raise ProcessLookupError
    except (KeyError, ValueError, OSError) as error:
        process.kill()
        process.wait()
        raise SetupError(f"bubblewrap did not come up: {launch.printed(channels.ours[1])}") from error
    return Opened(process, init_pid, init_fd)


def _parsed(said: bytes) -> Mapping[str, int]:
    found = json.loads(said)
    return found if isinstance(found, dict) else {}
