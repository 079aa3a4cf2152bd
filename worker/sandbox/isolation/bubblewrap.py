"""Starts bubblewrap as an unprivileged uid, with the policy: which files and devices a program sees."""

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
# Size of the folder with the harness's files, which a program may be able to make writable again.
_FILES_BYTES = 16 * MIB

_ETC = {
    "/etc/passwd": (
        b"root:x:0:0:root:/root:/usr/sbin/nologin\n"
        b"u:x:1000:1000:u:/home/u:/bin/sh\n"
        b"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
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
    """The uid of the program on the host; None if it is the node's own, since the node is not root."""

    uid: int | None

    @property
    def effective(self) -> int:
        """The uid as a number in both cases."""
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
    # A folder must come before the folders inside it.
    for bind in sorted(dict.fromkeys(binds), key=lambda bind: bind.destination):
        if bind.source == bind.destination and bind.source.startswith("/usr/"):
            continue
        if not Path(bind.source).exists():
            raise SetupError(f"{bind.source} does not exist")
        arguments += ["--ro-bind", private_mounts.show(bind.source, uid=uid), bind.destination]
    return arguments


def interpreter(job: SandboxJob) -> tuple[str, tuple[Bind, ...]]:
    """The Python that runs our pid 1, and the folders that it needs.

    This is the job's own Python if it has one, so that the sandbox shows nothing more; else the system's or
    this node's.
    """
    if Path(job.argv[0]).name.startswith("python"):
        return job.argv[0], ()
    if Path("/usr/bin/python3").exists():
        return "/usr/bin/python3", ()
    return os.path.realpath(sys.executable), (Bind(sys.base_prefix, sys.base_prefix),)


def arguments_of(job: SandboxJob, *, uid: int, extra: Sequence[Bind] = (), nests: bool = False) -> list[str]:
    """The arguments of bubblewrap, without those for files and descriptors.

    `extra`: more folders to show. `nests`: whether the program may create namespaces itself.
    """
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
        # `--bind` mounts without devices: only the node can open them then, outside.
        arguments += ["--bind" if job.gated else "--dev-bind", node, node]
    for folder, mode in (("/tmp", "1777"), ("/dev/shm", "1777"), ("/home/u", "0700")):  # noqa: S108
        arguments += ["--size", scratch, "--perms", mode, "--tmpfs", folder]
    return arguments + _bind_arguments(binds, uid=uid)


@dataclass(slots=True)
class RunningSandbox:
    """A running sandbox: bubblewrap's process, and the id on the host and a pidfd of its pid 1."""

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
        """Start the job up to the point where pid 1 waits for its configuration. Raises SetupError."""
        python, extra = interpreter(job)
        channels = Channels.make()
        control, report = channels.their_control.fileno(), channels.theirs[2]
        command = [python, "-I", "-S", "-E", INIT_PATH, str(control), "confined"]
        files = {**launch.files_of(job), INIT_PATH: launch.INIT_SOURCE.read_bytes()}
        arguments = arguments_of(job, uid=self._identity.effective, extra=extra)
        try:
            running = self.open(command, arguments, files, channels=channels, passed=(control, report))
        except BaseException:
            channels.close()
            raise
        stdout, stderr, read_report = channels.ours
        return Launch(
            running.process,
            running.init_pid,
            running.init_fd,
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
    ) -> RunningSandbox:
        """Start `command` in the sandbox of `job`; it waits there and takes jobs later. Raises SetupError.

        `nests`: the program creates a sandbox for each job itself, and has the rights for that.
        """
        arguments = arguments_of(job, uid=self._identity.effective, nests=nests)
        # With `nests`, each job mounts its own folder for files.
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
    ) -> RunningSandbox:
        """Run a command as pid 1 of a new sandbox, with the descriptors in `passed`. Raises SetupError.

        `files`: content by path inside. `filtered`: whether the seccomp filter is in force. This closes the
        sandbox's ends of the channels, but not if it raises.
        """
        memory_files: list[int] = []
        info_read, info_write = os.pipe()
        try:
            options = [*arguments]
            for path, data in {**_ETC, **files}.items():
                memory_files.append(launch.memory_file(data))
                options += ["--perms", "0644", "--file", str(memory_files[-1]), path]
            # Until now, the tmpfs at /dev is writable and has no size limit.
            options += ["--remount-ro", "/dev", "--remount-ro", "/"]
            if filtered:
                memory_files.append(launch.memory_file(self.filter))
                options += ["--seccomp", str(memory_files[-1])]
            options += ["--info-fd", str(info_write)]
            # The options go through a descriptor, because the program can read the command line of pid 1.
            memory_files.append(
                launch.memory_file(
                    b"".join(argument.encode(errors="surrogateescape") + b"\0" for argument in options)
                )
            )
            whole_command = [self._binary, "--args", str(memory_files[-1]), "--", *command]
            process = self._popen(whole_command, channels, [*memory_files, info_write, *passed])
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
                f"could not start bubblewrap as uid {self._identity.effective}: {error}"
            ) from error

    @staticmethod
    def program(job: SandboxJob) -> tuple[tuple[str, ...], dict[str, str], str]:
        """The program's arguments, variables and working folder; paths are those of the job."""
        library_path = gpu.driver().library_path if gpu.is_nvidia(job.devices) else ()
        return job.argv, launch.variables_of(job, library_path=library_path), job.working_directory

    @staticmethod
    def memory_watch(memory: MemoryWatch, job: SandboxJob) -> MemoryWatch:
        """The watch unchanged: the scratch folders have a size limit."""
        del job
        return memory

    @staticmethod
    def clean() -> None:
        """Do nothing: a job leaves nothing outside of its sandbox."""

    @staticmethod
    def kill(started: Launch) -> None:
        """Kill pid 1, and with it all processes of its namespace; they end before it does."""
        try:
            signal.pidfd_send_signal(started.init_fd, signal.SIGKILL)
        except ProcessLookupError:
            return


def _await_init(process: subprocess.Popen[bytes], info: int, channels: Channels) -> RunningSandbox:
    """Wait until bubblewrap reports the id of pid 1 on the host on descriptor `info`. Raises SetupError."""
    report = b""
    while b"}" not in report:
        if not select.select([info], [], [], _INFO_SECONDS)[0]:
            process.kill()
            break
        chunk = os.read(info, 4096)
        if not chunk:
            break
        report += chunk
    try:
        init_pid = int(_parse_info(report)["child-pid"])
        init_fd = os.pidfd_open(init_pid)
        if processes.parent_of(init_pid) != process.pid:
            os.close(init_fd)
            raise ProcessLookupError
    except (KeyError, ValueError, OSError) as error:
        process.kill()
        process.wait()
        raise SetupError(f"bubblewrap did not start: {launch.read_error(channels.ours[1])}") from error
    return RunningSandbox(process, init_pid, init_fd)


def _parse_info(report: bytes) -> Mapping[str, int]:
    info = json.loads(report)
    return info if isinstance(info, dict) else {}
