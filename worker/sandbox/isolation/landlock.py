"""Isolation by Landlock and a seccomp filter, for machines without namespaces.

docs/security.md lists its gaps.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from worker.sandbox.errors import SandboxUnavailableError, SetupError
from worker.sandbox.isolation import gpu, seccomp
from worker.sandbox.isolation.bubblewrap import Identity
from worker.sandbox.isolation.plain import Plain, remove_tree
from worker.sandbox.job import SandboxJob
from worker.sandbox.process import launch
from worker.sandbox.process.launch import Launch
from worker.sandbox.resources import processes
from worker.sandbox.resources.memory import MemoryWatch, PolledMemory, SharedFiles, WatchedFolder

CONFINE_SOURCE = Path(__file__).with_name("confine.py")

_CREATE_RULESET = 444
_ASK_VERSION = 1
# From this version on, Landlock restricts signals and abstract sockets.
SCOPES_ABI = 6
NETWORK_ABI = 4
_TRUNCATE_ABI, _REFER_ABI, _IOCTL_ABI = 3, 2, 5

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_OF_THE_FIRST_ABI = (1 << 13) - 1
_MAKE_DEVICES = 1 << 6 | 1 << 11
_MAKE_FILE, _REMOVE_FILE = 1 << 8, 1 << 5
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_BOTH_PORTS, _BOTH_SCOPES = 3, 3

_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_USE = _READ_FILE | _WRITE_FILE | _IOCTL
# Only the files that the loader, the C library and torch read; no accounts and no settings of the host.
_READABLE = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc"),
    *(
        "/sys/devices/system/cpu",
        "/sys/devices/system/node",
        "/etc/nsswitch.conf",
        "/etc/hosts",
        "/etc/localtime",
    ),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
)
_USABLE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the C library uses no other folder
_SWEEP_SECONDS = 3.0


def find_abi() -> int:
    """The kernel's version of Landlock. Raises SandboxUnavailableError if it has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    abi = int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION))
    if abi >= 1:
        return abi
    reasons = {
        errno.ENOSYS: "this kernel has no Landlock, which came with Linux 5.13",
        errno.EOPNOTSUPP: "Landlock is switched off at boot: add `landlock` to the kernel's parameter `lsm=`",
        errno.EPERM: "a seccomp filter forbids Landlock; Docker's profile allows it from 20.10.10 on",
    }
    raise SandboxUnavailableError(reasons.get(ctypes.get_errno(), os.strerror(ctypes.get_errno())))


def require(identity: Identity) -> int:
    """The kernel's version of Landlock.

    Raises SandboxUnavailableError if a job with this identity could send signals to its supervisor.
    """
    abi = find_abi()
    if identity.uid is None and abi < SCOPES_ABI:
        raise SandboxUnavailableError(
            f"Landlock here (version {abi}) does not keep a program from signalling other processes of its "
            f"user: run the node as root, so that each slot has its own uid, or on Linux 6.12 or newer"
        )
    return abi


def rights_of(abi: int) -> int:
    """The mask of all file accesses that this version can restrict."""
    rights = _OF_THE_FIRST_ABI
    for since, right in ((_REFER_ABI, _REFER), (_TRUNCATE_ABI, _TRUNCATE), (_IOCTL_ABI, _IOCTL)):
        rights |= right if abi >= since else 0
    return rights


def attributes_of(abi: int) -> bytes:
    """`struct landlock_ruleset_attr`, with the fields that this version knows."""
    fields = [rights_of(abi)]
    if abi >= NETWORK_ABI:
        fields.append(_BOTH_PORTS)
    if abi >= SCOPES_ABI:
        fields.append(_BOTH_SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)


class LandlockBackend(Plain):
    """Starts jobs of one slot.

    Each can reach only its scratch folder, the system's files, and its binds and devices.
    """

    def __init__(self, *, identity: Identity, slot: int, memory_is_counted: bool) -> None:
        super().__init__(identity=identity)
        self.abi = require(identity)
        self._folder = Path(tempfile.gettempdir(), f"samehere-job-{identity.effective}-{slot}")
        self._shared: SharedFiles | None = None
        self._filter = seccomp.build_filter(
            memory_is_counted=memory_is_counted, own_namespaces=False, own_uid=identity.uid is not None
        )

    def start(self, job: SandboxJob) -> Launch:
        """Start the job up to the point where the program's parent waits for its configuration.

        Raises SetupError.
        """
        if self._identity.uid is not None:
            # A node that was killed may have left processes. No other job uses this slot now.
            _sweep_uid(self._identity.uid)
        self._shared = SharedFiles(self._identity.effective, folder=_SHARED_MEMORY)
        return super().start(job)

    def memory_watch(self, memory: MemoryWatch, job: SandboxJob) -> MemoryWatch:
        """A watch that also checks the scratch folder and shared memory, whose size has no other limit."""
        if isinstance(memory, PolledMemory):
            memory.beside = self._shared
        return (
            memory
            if self.scratch is None
            else WatchedFolder(memory, self.scratch, limit_bytes=job.limits.scratch_bytes)
        )

    def clean(self) -> None:
        """End processes that the job left, and remove its scratch folder and its files in shared memory."""
        if self._identity.uid is None:
            _end(processes.confined_children())
        else:
            _sweep_uid(self._identity.uid)
        super().clean()

    def _new_folder(self) -> Path:
        """The scratch folder, empty.

        It is the same for all jobs of a slot, so that paths in outputs are equal.

        If it exists, a node that was killed left it: a slot is locked while it is in use. Raises SetupError.
        """
        try:
            self._folder.mkdir(mode=0o755)
        except FileExistsError:
            if self._folder.lstat().st_uid != os.geteuid():
                raise SetupError(f"{self._folder} belongs to another user: remove it") from None
            remove_tree(self._folder)
            try:
                self._folder.mkdir(mode=0o755)
            except OSError as error:
                raise SetupError(
                    f"{self._folder}, which an earlier job left, can't be removed: {error.strerror}"
                ) from None
        return self._folder

    def _make_scratch(self, job: SandboxJob) -> Path:
        scratch = super()._make_scratch(job)
        # The program may read some of these files, but write to none.
        sources = {source.name: source.read_bytes() for source in (launch.INIT_SOURCE, CONFINE_SOURCE)}
        contents = {**sources, "walls": self._walls(job, scratch)}
        for name, content in contents.items():
            (scratch / name).unlink(missing_ok=True)
            (scratch / name).write_bytes(content)
            (scratch / name).chmod(0o644)
        os.chown(scratch, os.geteuid(), os.getegid())
        scratch.chmod(0o755)
        return scratch

    def _init_arguments(self, scratch: Path) -> list[str]:
        return [str(scratch)]

    def _walls(self, job: SandboxJob, scratch: Path) -> bytes:
        mask, attributes = rights_of(self.abi), attributes_of(self.abi).hex()
        rules = [
            (mask & (rights if Path(path).is_dir() else rights & _OF_FILES), path)
            for path, rights in self._rules(job, scratch)
        ]
        texts = [
            attributes,
            str(len(rules)),
            *(text for rights, path in rules for text in (str(rights), path)),
        ]
        return b"\0".join([*(os.fsencode(text) for text in texts), self._filter])

    def _rules(self, job: SandboxJob, scratch: Path) -> list[tuple[str, int]]:
        writable = [str(scratch / folder) for folder in ("home/u", "tmp", job.working_directory.lstrip("/"))]
        readable = [*_READABLE, str(scratch / "run"), *(bind.source for bind in job.binds)]
        if gpu.is_nvidia(job.devices):
            readable += [*gpu.sys_folders(), *gpu.driver().folders]
        rules = [(path, _READ) for path in readable if Path(path).exists()]
        rules += [(path, _USE) for path in (*_USABLE, *gpu.nodes(job.devices)) if Path(path).exists()]
        rules += [(path, (_OF_THE_FIRST_ABI | _REFER | _TRUNCATE) & ~_MAKE_DEVICES) for path in writable]
        if Path(_SHARED_MEMORY).is_dir():
            rules.append((_SHARED_MEMORY, _READ_FILE | _WRITE_FILE | _TRUNCATE | _MAKE_FILE | _REMOVE_FILE))
        return rules


def _sweep_uid(uid: int) -> None:
    """End every process of the uid, which no other slot has, and remove its files in shared memory."""
    # A process of that user sends the signal: the kernel then signals all at once, and no fork escapes.
    if processes.of_uid(uid):
        subprocess.run(
            ["/bin/sh", "-c", "kill -9 -1"],
            user=uid,
            group=uid,
            extra_groups=[],
            env={},
            check=False,
            cwd="/",
        )
        _end(processes.of_uid(uid))
    for entry in os.scandir(_SHARED_MEMORY) if Path(_SHARED_MEMORY).is_dir() else ():
        # Other processes may remove their files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if entry.stat(follow_symlinks=False).st_uid == uid:
                Path(entry.path).unlink()


def _end(pids: Sequence[int]) -> None:
    """Kill these processes, and recover those that became our children; waits up to _SWEEP_SECONDS."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    waiting = list(pids)
    while waiting and time.monotonic() < deadline:
        for pid in waiting:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        waiting = [pid for pid in waiting if processes.exists(pid)]
        time.sleep(0.002)
