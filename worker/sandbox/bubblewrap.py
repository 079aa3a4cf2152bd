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

from worker.sandbox import gpu, launch, private_mounts, processes, seccomp
from worker.sandbox.errors import SetupError
from worker.sandbox.job import Bind, SandboxJob
from worker.sandbox.launch import Channels, Launch
from worker.sandbox.memory import MemoryWatch

_INIT = "/run/samehere/init.py"
_INFO_SECONDS = 30.0

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
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns"),
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


def arguments_of(job: SandboxJob, *, uid: int, extra: Sequence[Bind] = ()) -> list[str]:
    """Everything but the files and the descriptors."""
    scratch = str(job.limits.scratch_bytes)
    arguments = [*_NAMESPACES, *_system_arguments()]
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


class Bubblewrap:
    """Starts jobs of one slot."""

    def __init__(self, binary: str, *, identity: Identity, memory_is_counted: bool) -> None:
        self._binary = binary
        self._identity = identity
        self._filter = seccomp.build_filter(memory_is_counted=memory_is_counted)

    def start(self, job: SandboxJob) -> Launch:
        """Up to the point where pid 1 waits for its configuration."""
        python, extra = interpreter(job)
        channels = Channels.make()
        memory_files: list[int] = []
        info_read, info_write = os.pipe()
        try:
            arguments = arguments_of(job, uid=self._identity.effective, extra=extra)
            files = {**_ETC, **launch.files_of(job), _INIT: launch.INIT_SOURCE.read_bytes()}
            for path, data in files.items():
                memory_files.append(_memory_file(data))
                arguments += ["--perms", "0644", "--file", str(memory_files[-1]), path]
            # The dev tmpfs has no size and is writable before this.
            arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
            memory_files.append(_memory_file(self._filter))
            arguments += ["--seccomp", str(memory_files[-1]), "--info-fd", str(info_write)]
            # By descriptor, because pid 1's command line can be read inside.
            memory_files.append(_memory_file(b"".join(argument.encode(errors="surrogateescape") + b"\0" for argument in arguments)))
            command = [self._binary, "--args", str(memory_files[-1]), "--", python, "-I", "-S", "-E", _INIT]
            process = self._popen(command, channels, [*memory_files, info_write])
            for fd in (info_write, *memory_files):
                os.close(fd)
            memory_files, info_write = [], -1
            report_inside = channels.theirs[2]
            channels.close_theirs()
            return _await_init(process, info_read, channels, report_inside=report_inside)
        except BaseException:
            channels.close()
            raise
        finally:
            for fd in (info_read, info_write, *memory_files):
                if fd >= 0:
                    os.close(fd)

    def _popen(self, command: list[str], channels: Channels, passed: Sequence[int]) -> subprocess.Popen[bytes]:
        stdout, stderr, report = channels.theirs
        uid = self._identity.uid
        try:
            return subprocess.Popen(
                [*command, str(channels.their_control.fileno()), "confined"],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[*passed, channels.their_control.fileno(), report],
                env={},
                cwd="/",
                umask=0o022,
                user=uid,
                group=uid,
                extra_groups=None if uid is None else [],
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SetupError(f"bubblewrap could not be started as uid {self._identity.effective}: {error}") from error

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


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("samehere")
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _await_init(process: subprocess.Popen[bytes], info: int, channels: Channels, *, report_inside: int) -> Launch:
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
    stdout, stderr, report = channels.ours
    return Launch(process, init_pid, init_fd, channels.control, stdout, stderr, report, report_inside)


def _parsed(said: bytes) -> Mapping[str, int]:
    found = json.loads(said)
    return found if isinstance(found, dict) else {}
