"""The resource limits of one process and of all processes of a job, for the size of this machine."""

from __future__ import annotations

import os
import platform
import resource

from worker.contract import GIB, KIB, MIB, Limits
from worker.sandbox.resources import processes

_STACK_SOFT, _STACK_HARD = 8 * MIB, 64 * MIB
_OPEN_FILES = 1024
_CPU_SLACK_SECONDS = 60
_LOCKED_BYTES = 64 * KIB
_FEWEST_PROCESSES = 256
# Since Linux 5.14, RLIMIT_NPROC counts the processes of the user namespace; before, all processes of the uid.
_COUNTS_PER_NAMESPACE = (5, 14)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def process_limit(limits: Limits) -> int:
    """The number of processes and threads that a job may have.

    It grows with the cores, as torch's threads do.
    """
    return max(_FEWEST_PROCESSES, limits.processes_per_core * cores())


def processor_seconds(limits: Limits) -> int:
    """Seconds of CPU time for one process: never less than all cores can give within the wall limit."""
    return int(limits.wall_seconds) * cores() + _CPU_SLACK_SECONDS


def kernel_version() -> tuple[int, int]:
    """The major and minor version of the kernel."""
    major, minor = platform.release().split(".")[:2]
    return int(major), int("".join(character for character in minor if character.isdigit()) or 0)


def _threads_of(uid: int) -> int:
    count = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:  # noqa: PTH116
                    count += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
            except OSError:
                continue
    return count


def process_limits(
    limits: Limits, *, uid: int, has_devices: bool, memory_is_counted: bool, confined: bool
) -> dict[int, tuple[int, int]]:
    """Soft and hard limit by resource (`resource.RLIMIT_*`).

    Never RLIMIT_AS: CUDA reserves tens of GiB of addresses.

    `confined`: whether the job has a user namespace.
    """
    process_count = process_limit(limits)
    if not confined or kernel_version() < _COUNTS_PER_NAMESPACE:
        process_count += _threads_of(uid)
    cpu = processor_seconds(limits)
    values: dict[int, tuple[int, int]] = {
        # Not 0: the kernel ignores 0 if core dumps go to a program,
        # as on Ubuntu. With 1 it does not start that program.
        resource.RLIMIT_CORE: (1, 1),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_NPROC: (process_count, process_count),
        resource.RLIMIT_CPU: (cpu, cpu),
        resource.RLIMIT_MEMLOCK: (_LOCKED_BYTES, _LOCKED_BYTES),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_RTPRIO: (0, 0),
        resource.RLIMIT_NICE: (0, 0),
        resource.RLIMIT_STACK: (_STACK_SOFT, _STACK_HARD),
    }
    if not has_devices:
        # The scratch folders limit the stored bytes. This limits the size of a sparse file.
        file_bytes = max(limits.scratch_bytes, limits.memory_bytes)
        values[resource.RLIMIT_FSIZE] = (file_bytes, file_bytes)
        if not memory_is_counted:
            # A second limit, for the time between two polls. It is far above the job's limit: if it took
            # effect first, the program would report a failed allocation, and our limit would look like a bug
            # of the program. It also counts memory that is only reserved.
            data = 2 * limits.memory_bytes + GIB
            values[resource.RLIMIT_DATA] = (data, data)
    return values


def memory_floor_bytes() -> int:
    """If the machine has less memory available than this, in bytes, a job without a cgroup is ended."""
    return min(512 * MIB, processes.total_bytes() // 16)
