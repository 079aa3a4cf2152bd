"""The limits of one process, and of a job's processes together, for this machine's size."""

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
# Since 5.14 a user namespace counts its own processes; before, all of the uid's on the machine count.
_COUNTS_PER_NAMESPACE = (5, 14)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def process_limit(limits: Limits) -> int:
    """How many processes and threads a job may have: those of torch grow with the cores."""
    return max(_FEWEST_PROCESSES, limits.processes_per_core * cores())


def processor_seconds(limits: Limits) -> int:
    """What one process may use of the processor. Never below wall times cores: threads that work are no offence."""
    return int(limits.wall_seconds) * cores() + _CPU_SLACK_SECONDS


def kernel_version() -> tuple[int, int]:
    """Major and minor."""
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
    """Soft and hard values by resource.

    Never RLIMIT_AS: CUDA reserves tens of GiB.
    """
    process_count = process_limit(limits)
    if not confined or kernel_version() < _COUNTS_PER_NAMESPACE:
        process_count += _threads_of(uid)
    cpu = processor_seconds(limits)
    wanted: dict[int, tuple[int, int]] = {
        # Not 0, which the kernel ignores where cores go to a program of the host, as on Ubuntu; with 1 it starts none.
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
        # The scratch folders bound what is stored; this bounds what a single sparse file claims to hold.
        file_bytes = max(limits.scratch_bytes, limits.memory_bytes)
        wanted[resource.RLIMIT_FSIZE] = (file_bytes, file_bytes)
        if not memory_is_counted:
            # A backstop between two polls, well above the cap: where it fired first, the program would see an allocation fail and
            # report an error of its own, and a limit of ours would look like a finding. Also reserved memory counts, not only used.
            data = 2 * limits.memory_bytes + GIB
            wanted[resource.RLIMIT_DATA] = (data, data)
    return wanted


def memory_floor_bytes() -> int:
    """With less than this available on the machine, a job that no cgroup counts is stopped."""
    return min(512 * MIB, processes.total_bytes() // 16)
