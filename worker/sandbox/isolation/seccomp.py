"""Builds the filter that denies system calls, as a classic BPF program."""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

from worker.sandbox.errors import SandboxUnavailableError

# BPF instruction codes: load a word of seccomp_data, mask it, jump, return.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NUMBER_AT, _ARCH_AT = 0, 4
_MAX_JUMP = 255

# All system calls below this number were reviewed. Newer ones fail with ENOSYS, as on an older kernel.
_FIRST_UNREVIEWED = 470

# The same numbers on every architecture, by kernel policy.
_SHARED_NUMBERS = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "process_mrelease": 448, "set_mempolicy_home_node": 450, "statmount": 457,
    "listmount": 458, "open_tree_attr": 467, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
    "file_setattr": 469,
}  # fmt: skip

_X86_64_NUMBERS = {
    "ioctl": 16, "shmget": 29, "socket": 41, "socketpair": 53, "clone": 56, "ptrace": 101, "syslog": 103,
    "uselib": 134, "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153, "modify_ldt": 154,
    "pivot_root": 155, "_sysctl": 156, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174, "init_module": 175,
    "delete_module": 176, "get_kernel_syms": 177, "query_module": 178, "quotactl": 179, "nfsservctl": 180,
    "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "migrate_pages": 256, "unshare": 272, "vmsplice": 278, "move_pages": 279,
    "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "semget": 64, "msgget": 68, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94,
    "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "setxattr": 188,
    "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
    "sched_setaffinity": 203, "mq_open": 240, "ioprio_set": 251, "fchownat": 260, "fchmodat": 268,
    "prlimit64": 302, "sched_setattr": 314, "connect": 42,
}  # fmt: skip

_AARCH64_NUMBERS = {
    "lookup_dcookie": 18, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42,
    "chroot": 51, "vhangup": 58, "quotactl": 60, "vmsplice": 75, "acct": 89, "personality": 92,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112,
    "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161, "setdomainname": 162,
    "settimeofday": 170, "adjtimex": 171, "shmget": 194, "socket": 198, "socketpair": 199, "add_key": 217,
    "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225, "migrate_pages": 238,
    "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "memfd_create": 279, "bpf": 280,
    "userfaultfd": 282, "kexec_file_load": 294, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
    "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "ioprio_set": 30, "fchmod": 52,
    "fchmodat": 53, "fchownat": 54, "fchown": 55, "sched_setparam": 118, "sched_setscheduler": 119,
    "sched_setaffinity": 122, "setpriority": 140, "mq_open": 180, "msgget": 186, "semget": 190,
    "prlimit64": 261, "sched_setattr": 274, "connect": 203,
}  # fmt: skip

# The filter decides on these by their arguments, or denies them only if no cgroup counts the memory.
_NOT_PLAINLY_DENIED = frozenset({
    "clone", "clone3", "ioctl", "socket", "socketpair", "personality", "memfd_create", "shmget",
    "io_uring_setup", "io_uring_enter", "io_uring_register", "prlimit64",
})  # fmt: skip
# Denied without namespaces: they create objects of the whole machine that outlive a job.
_OF_THE_MACHINE = frozenset({"shmget", "semget", "msgget", "mq_open"})
# Landlock does not restrict these changes to files. They are harmless if the job's uid owns no other files.
_MODES_AND_OWNERS = frozenset({
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "file_setattr",
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat",
})  # fmt: skip
# Changes to other processes of the same user. The first two are denied; a process may do the last four
# (`_TO_ONESELF`) to itself, which the process id 0 stands for.
_TO_PROCESSES = frozenset({"setpriority", "ioprio_set"})
# Landlock does not restrict sockets that are files, and the
# D-Bus session's socket can start programs for its user.
_TO_SERVICES = frozenset({"connect"})
_TO_ONESELF = ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")
_WITH_A_SHARED_UID = _MODES_AND_OWNERS | _TO_PROCESSES | _TO_SERVICES
_ONLY_WITHOUT_NAMESPACES = _OF_THE_MACHINE | _WITH_A_SHARED_UID | frozenset(_TO_ONESELF)
# Callers try these first, and fall back to others only if the kernel seems too old.
_ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
# Memory that belongs to no process, so that polling does
# not see it. (Each of 32 000 semaphore sets takes 2 MiB.)
_INVISIBLE_MEMORY = frozenset({"memfd_create", "shmget", "semget", "msgget"})

# The flags NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. (NEWTIME is not a flag of clone.)
_CLONE_NAMESPACES = 0x7E020000
# TIOCSTI, TIOCLINUX, TIOCSETD: they push characters into a terminal or change its discipline.
_DENIED_IOCTLS = (0x5412, 0x541C, 0x5423)
_UNIX, _INTERNET = 1, (2, 10)  # AF_UNIX; AF_INET, AF_INET6
# TCP, UDP and pings. Other protocols are rarely used code, in modules that the kernel would load on demand.
_PROTOCOLS, _FIRST_RARE_KIND = (0, 1, 6, 17, 58), 4  # after SOCK_STREAM, SOCK_DGRAM and SOCK_RAW
# SOCK_STREAM and SOCK_SEQPACKET, below the flags.
_CONNECTED_KINDS, _SOCKET_KIND = (1, 5), 0xF
_NETLINK, _NETLINK_ROUTE = 16, 0  # getifaddrs and gloo need it
# PER_LINUX and PER_LINUX32 with and without UNAME26, ADDR_NO_RANDOMIZE, and the query.
_ALLOWED_PERSONALITIES = (0, 8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Architecture:
    """The audit number and the numbers of system calls of one kind of machine."""

    audit: int
    numbers: dict[str, int]
    has_x32: bool = False


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, {**_X86_64_NUMBERS, **_SHARED_NUMBERS}, has_x32=True),
    "aarch64": Architecture(0xC00000B7, {**_AARCH64_NUMBERS, **_SHARED_NUMBERS}),
}

Instruction = tuple[int, int, int, int]


def _error(number: int) -> int:
    return 0x00050000 | number


def _argument(position: int) -> int:
    # The low word: both machines are little-endian, and the
    # kernel uses 32 bits of every argument that is checked here.
    return 16 + 8 * position


def _return_if(code: int, value: int, answer: int) -> list[Instruction]:
    return [(code, 0, 1, value & 0xFFFFFFFF), (_RETURN, 0, 0, answer)]


def _judge(number: int, body: list[Instruction]) -> list[Instruction]:
    """Instructions that run the body for this system call only; the body must end with a return."""
    if len(body) > _MAX_JUMP:
        raise ValueError("a classic BPF jump reaches 255 instructions")
    return [(_EQUAL, 0, len(body), number), *body]


def _allow_only(position: int, values: tuple[int, ...], otherwise: int) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _argument(position))]
    for value in values:
        body += _return_if(_EQUAL, value, _ALLOW)
    return [*body, (_RETURN, 0, 0, otherwise)]


def _judge_socket(number: int, *, internet: bool, datagrams: bool) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _argument(0))]
    for family in _INTERNET if internet else ():
        common = _common_internet()
        body += [(_EQUAL, 0, len(common), family), *common]
    if datagrams:
        body += _return_if(_EQUAL, _UNIX, _ALLOW)
    else:
        # A datagram can go to any socket without a connection.
        kinds: list[Instruction] = [(_LOAD, 0, 0, _argument(1)), (_AND, 0, 0, _SOCKET_KIND)]
        for kind in _CONNECTED_KINDS:
            kinds += _return_if(_EQUAL, kind, _ALLOW)
        kinds.append((_RETURN, 0, 0, _error(errno.EPERM)))
        body += [(_EQUAL, 0, len(kinds), _UNIX), *kinds]
    route = [(_LOAD, 0, 0, _argument(2)), *_return_if(_EQUAL, _NETLINK_ROUTE, _ALLOW)]
    body += [(_EQUAL, 0, len(route), _NETLINK), *route, (_RETURN, 0, 0, _error(errno.EAFNOSUPPORT))]
    return _judge(number, body)


def _common_internet() -> list[Instruction]:
    """Instructions that allow internet sockets of common kinds and protocols only."""
    body: list[Instruction] = [(_LOAD, 0, 0, _argument(1)), (_AND, 0, 0, _SOCKET_KIND)]
    body += _return_if(_AT_LEAST, _FIRST_RARE_KIND, _error(errno.ESOCKTNOSUPPORT))
    body.append((_LOAD, 0, 0, _argument(2)))
    for protocol in _PROTOCOLS:
        body += _return_if(_EQUAL, protocol, _ALLOW)
    return [*body, (_RETURN, 0, 0, _error(errno.EPROTONOSUPPORT))]


def architecture(machine: str | None = None) -> Architecture:
    """The table of this machine. Raises SandboxUnavailableError if there is none for it."""
    name = machine or platform.machine()
    if name not in ARCHITECTURES:
        raise SandboxUnavailableError(
            f"the seccomp filter exists for {' and '.join(ARCHITECTURES)} only, and this machine is {name}; "
            "run nodes on one of those"
        )
    return ARCHITECTURES[name]


def build_filter(
    *, memory_is_counted: bool, own_namespaces: bool = True, own_uid: bool = True, machine: str | None = None
) -> bytes:
    """The filter's instructions, 8 bytes each.

    Without `memory_is_counted`, it also denies memory that belongs to no process. Without `own_namespaces`,
    it also denies the machine's network and objects of the whole machine. Without `own_uid` as well, it
    denies changes to other processes, and changes to files without opening them. Raises
    SandboxUnavailableError for an unknown machine.
    """
    arch = architecture(machine)
    numbers = arch.numbers
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if arch.has_x32:
        program += _return_if(_AT_LEAST, 0x40000000, _error(errno.ENOSYS))
    program += _return_if(_AT_LEAST, _FIRST_UNREVIEWED, _error(errno.ENOSYS))
    only_oneself = _allow_only(0, (0,), _error(errno.EPERM))
    program += _judge(numbers["prlimit64"], only_oneself)
    denied = set(numbers) - _NOT_PLAINLY_DENIED - _ONLY_WITHOUT_NAMESPACES
    if not memory_is_counted:
        denied |= _INVISIBLE_MEMORY
    if not own_namespaces:
        denied |= _OF_THE_MACHINE
    if not own_namespaces and not own_uid:
        denied |= _WITH_A_SHARED_UID & set(numbers)
        for name in _TO_ONESELF:
            program += _judge(numbers[name], only_oneself)
    for number in sorted(numbers[name] for name in denied):
        program += _return_if(_EQUAL, number, _error(errno.EPERM))
    for name in _ABSENT:
        program += _return_if(_EQUAL, numbers[name], _error(errno.ENOSYS))
    program += _judge_arguments(numbers, internet=own_namespaces, datagrams=own_namespaces or own_uid)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _judge_arguments(numbers: dict[str, int], *, internet: bool, datagrams: bool) -> list[Instruction]:
    clone = [
        (_LOAD, 0, 0, _argument(0)),
        *_return_if(_ANY_BIT, _CLONE_NAMESPACES, _error(errno.EPERM)),
        (_RETURN, 0, 0, _ALLOW),
    ]
    ioctl: list[Instruction] = [(_LOAD, 0, 0, _argument(1))]
    for request in _DENIED_IOCTLS:
        ioctl += _return_if(_EQUAL, request, _error(errno.EPERM))
    program = _judge(numbers["clone"], clone) + _judge(numbers["ioctl"], [*ioctl, (_RETURN, 0, 0, _ALLOW)])
    for name in ("socket", "socketpair"):
        program += _judge_socket(numbers[name], internet=internet, datagrams=datagrams)
    return program + _judge(
        numbers["personality"], _allow_only(0, _ALLOWED_PERSONALITIES, _error(errno.EPERM))
    )
