"""What a job's processes use, read from outside under /proc; a process that ends meanwhile counts nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

_PROC = Path("/proc")
_KIB = 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The process and all its descendants, by their ids on the host."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - several times faster, 20 times a second
                waiting += [int(child) for child in _read_whole(f"/proc/{pid}/task/{task}/children").split()]
        except OSError:
            continue
    return found


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def _read_whole(path: str) -> bytes:
    """Of a list the kernel gives a page at a time, however much is asked for."""
    parts = []
    fd = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(fd, 1 << 16):
            parts.append(part)
    finally:
        os.close(fd)
    return b"".join(parts)


def _fields_kib(path: str, names: frozenset[bytes]) -> dict[bytes, int]:
    """Bytes by name, from a file of `Name:   123 kB` lines."""
    found = {}
    for line in _read(path).splitlines():
        name, _, rest = line.partition(b":")
        if name in names:
            found[name] = int(rest.split()[0]) * _KIB
    return found


_RESIDENT = frozenset({b"RssAnon", b"RssShmem", b"VmPTE"})
# Of memory that is only reserved: a table for each 2 MiB, of which a page was read, is memory too.
_PAGE_TABLES = frozenset({b"VmPTE"})
_PROPORTIONAL = frozenset({b"Pss_Anon", b"Pss_Shmem"})


def resident_bytes(pids: Iterable[int]) -> int:
    """An upper bound, cheap: what processes share by fork counts once for each."""
    total = 0
    for pid in pids:
        try:
            total += sum(_fields_kib(f"/proc/{pid}/status", _RESIDENT).values())
        except OSError:
            continue
    return total


def proportional_bytes(pids: Iterable[int]) -> tuple[int, int]:
    """Private and shared memory, each page counted once, slower; a process that hides counts what it has resident."""
    private = shared = 0
    for pid in pids:
        try:
            fields = _fields_kib(f"/proc/{pid}/smaps_rollup", _PROPORTIONAL)
            private += fields[b"Pss_Anon"] + sum(_fields_kib(f"/proc/{pid}/status", _PAGE_TABLES).values())
            shared += fields[b"Pss_Shmem"]
        except ProcessLookupError:
            continue
        except (OSError, KeyError):
            private += resident_bytes([pid])
    return private, shared


def cpu_seconds(pids: Iterable[int]) -> float:
    """What the processes and those that they waited for have used."""
    ticks = 0
    for pid in pids:
        try:
            # After the name, which is the program's own text and may hold anything but a last parenthesis.
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICKS


def status(path: str) -> dict[str, str]:
    """Fields of a `status` file by name; the program's own name, which comes first, is escaped by the kernel."""
    lines = _read(path).decode("utf-8", "replace").split("\n")
    return {name: text.strip() for name, colon, text in (line.partition(":") for line in lines) if colon}


def parent_of(pid: int) -> int | None:
    """The process's parent; None when the process is gone."""
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return None


def exists(pid: int) -> bool:
    """Whether there is such a process; a zombie counts."""
    return Path("/proc", str(pid)).exists()


def of_uid(uid: int) -> list[int]:
    """Every process of a user, zombies too."""
    # Not by the owner of the folder: that of a process which hides its memory is root.
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208
    return [pid for pid in pids if _field(pid, "Uid").split()[:1] == [str(uid)]]


def confined_children() -> list[int]:
    """Children of this process under more filters of system calls than itself, with their descendants: orphans of a job."""
    own = _filters(os.getpid())
    found: list[int] = []
    for pid in tree(os.getpid())[1:]:
        if parent_of(pid) == os.getpid() and _filters(pid) > own:
            found += tree(pid)
    return found


def _filters(pid: int) -> int:
    return int(_field(pid, "Seccomp_filters") or 0)


def _field(pid: int, name: str) -> str:
    try:
        return status(f"/proc/{pid}/status").get(name, "")
    except OSError:
        return ""


def held_open(pids: Iterable[int], devices: Mapping[int, str]) -> set[str]:
    """Which of the device nodes, by number, a process of these holds open."""
    found: set[str] = set()
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116 - the open file itself, not its path
            except OSError:
                continue
            if stat.S_ISCHR(status.st_mode) and status.st_rdev in devices:
                found.add(devices[status.st_rdev])
    return found


def device_numbers(paths: Iterable[str]) -> dict[int, str]:
    """The device nodes that exist, by number."""
    numbers = {}
    for path in paths:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode):
            numbers[status.st_rdev] = path
    return numbers


def available_bytes() -> int:
    """What the machine can still give without swapping."""
    return _fields_kib("/proc/meminfo", frozenset({b"MemAvailable"})).get(b"MemAvailable", 1 << 62)


def total_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def machine_oom_kills() -> int:
    """How many processes the kernel killed for memory since the machine started."""
    for line in (_PROC / "vmstat").read_bytes().splitlines():
        if line.startswith(b"oom_kill "):
            return int(line.split()[1])
    return 0
