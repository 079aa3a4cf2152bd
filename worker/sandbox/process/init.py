"""pid 1 of a sandbox: starts the program, reaps processes, and reports the program's exact wait status.

It runs by its path in the toolchain's Python with `-I -S -E`: Python 3.8 syntax, and only modules that import
quickly. It talks to `worker.sandbox.process.launch` over a socket that the program never gets:

    from here  "ready", with descriptors of the writable folders (path only)
    to here    the configuration, fields separated by NUL: limits as KIND:SOFT:HARD, separated by spaces;
               number of the report channel here; its number in the program; working folder; number of
               arguments; the arguments; NAME=VALUE of each variable
    from here  "gate", with the listener of the gate's filter, if the job has a gate
    from here  "failed ERRNO" if the program could not be started, else "exit STATUS USER SYSTEM PEAK WALL":
               the wait status, CPU and wall times in seconds, peak memory in KiB
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import os
import resource
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
SIGINT, SIGKILL, SIGTERM = 2, 9, 15
SCM_RIGHTS = 1
CONFIG_BYTES = 1 << 20
SECCOMP_SET_MODE_FILTER = 1
INSTRUCTION_BYTES = 8
GATE_PATH = "/run/samehere/gate"


def main(control_fd: int, *, confined: bool) -> None:
    """Serve one job. `confined`: whether this process is pid 1 of a pid namespace."""
    prctl = ctypes.CDLL(None).prctl
    raise_oom_score()
    # The program can neither trace this process nor read its memory, environment or descriptors under /proc.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if not confined:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Without a pid namespace, the job would outlive the node. This process ends the job then, and itself.
        _signal.signal(SIGTERM, give_up)
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0)
    os.set_inheritable(control_fd, False)
    serve(_socket.socket(fileno=control_fd), prctl, confined=confined, start=start)


def serve(
    control: _socket.socket, prctl: Callable[..., int], *, confined: bool, start: Callable[..., None]
) -> None:
    """Report ready, receive the configuration, run the program and report its end.

    Returns only in the program's process, and only if `start` returns: when the program is a fork of this
    process.
    """
    report_ready(control, ("/tmp", "/dev/shm", "/home/u") if confined else ())  # noqa: S108
    config = control.recv(CONFIG_BYTES)
    if not config:
        os._exit(0)
    began = time.monotonic()
    # Pid 1 ignores signals that it has no handler for, but
    # Python has one for SIGINT: the program could end its pid 1.
    handler = _signal.signal(SIGINT, _signal.SIG_IGN)
    program = os.fork()
    if program == 0:
        _signal.signal(SIGINT, handler)
        start(control, config, prctl)
        return
    status, user, system, peak = recover(program)
    if not confined:
        kill_rest()
    wall = time.monotonic() - began
    control.send(b"exit %d %.6f %.6f %d %.6f" % (status, user, system, peak, wall))
    os._exit(0)


def raise_oom_score() -> None:
    """Have the kernel kill the job before the node if the machine runs out of memory.

    Does nothing if it is not permitted: a process that others may not trace can't change its own score.
    """
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(fd, b"600")
    except OSError:
        pass
    os.close(fd)


def report_ready(control: _socket.socket, folders: tuple[str, ...]) -> None:
    """Report ready, with descriptors of the writable folders, through which the node checks their size."""
    fds = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders]
    rights = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    control.sendmsg([b"ready"], [(_socket.SOL_SOCKET, SCM_RIGHTS, rights)] if fds else [])
    for fd in fds:
        os.close(fd)


def start(control: _socket.socket, config: bytes, prctl: Callable[..., int]) -> None:
    """Become the program, in the child process. Never returns."""
    control_fd = control.fileno()
    try:
        fields = config.split(b"\0")
        control_fd = move_away(control_fd, int(fields[2]))
        # Python ignores some signals, and a node in the background
        # may ignore more. A program expects the defaults.
        for number in _signal.valid_signals():
            if _signal.getsignal(number) == _signal.SIG_IGN:
                _signal.signal(number, _signal.SIG_DFL)
        arguments, variables = apply_config(fields, (control_fd,), prctl)
        if len(sys.argv) > 3:
            confine(sys.argv[3])
        close_gate(control_fd)
        os.execve(arguments[0], arguments, variables)
    except BaseException as error:  # any error here is ours and must not look like the program's exit
        report_failure(control_fd, error)
    finally:
        os._exit(127)


def close_gate(control_fd: int) -> None:
    """Put the gate's filter in force, and hand its listener to the node. Does nothing without its file.

    The filter must report no call that follows here, since nobody answers yet. The file starts with the
    number of the call `seccomp` and its flags. Raises OSError if the kernel refuses the filter.
    """
    try:
        with open(GATE_PATH, "rb") as file:
            number, flags, program = (
                int.from_bytes(file.read(4), sys.byteorder),
                int.from_bytes(file.read(4), sys.byteorder),
                file.read(),
            )
    except FileNotFoundError:
        return

    class FilterProgram(ctypes.Structure):
        """`struct sock_fprog`."""

        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    filtered = FilterProgram(len(program) // INSTRUCTION_BYTES, program)
    control = _socket.socket(fileno=os.dup(control_fd))
    libc = ctypes.CDLL(None, use_errno=True)
    listener = libc.syscall(number, SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(filtered))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    control.sendmsg([b"gate"], [(_socket.SOL_SOCKET, SCM_RIGHTS, listener.to_bytes(4, sys.byteorder))])
    control.close()
    os.close(listener)


def move_away(fd: int, number: int) -> int:
    """A descriptor of the same file that does not have this number."""
    return os.dup(fd) if fd == number else fd


def report_failure(control: int, error: BaseException) -> None:
    """Tell the node that the program could not be started."""
    _socket.socket(fileno=os.dup(control)).send(b"failed %d" % (getattr(error, "errno", None) or 0))


def apply_config(
    fields: list[bytes], open_fds: tuple[int, ...], prctl: Callable[..., int]
) -> tuple[list[bytes], dict[bytes, bytes]]:
    """Apply the configuration to this process: session, folder, limits and descriptors.

    Closes all descriptors but 0, 1, 2, the report channel and `open_fds`. Returns arguments and variables.
    """
    report_from, report_to, count = int(fields[1]), int(fields[2]), int(fields[4])
    arguments = fields[5 : 5 + count]
    variables = dict(field.split(b"=", 1) for field in fields[5 + count :])
    os.setsid()
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.dup2(report_from, report_to, inheritable=True)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in (*open_fds, report_to):
            try:
                os.close(int(name))
            except OSError:
                pass
    # The node's parent may have blocked signals, even one of glibc's own.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    for limit in fields[0].split():
        limit_to(*(int(number) for number in limit.split(b":")))
    os.umask(0o022)
    os.chdir(fields[3])
    return arguments, variables


def confine(folder: str) -> None:
    """Restrict this process without namespaces, by `confine.py` and the rules in this folder.

    Raises OSError.
    """
    scope: dict[str, Callable[[str], None]] = {}
    with open(folder + "/confine.py", "rb") as file:
        exec(compile(file.read(), "confine.py", "exec"), scope)  # noqa: S102
    scope["confine"](folder + "/walls")


def limit_to(kind: int, soft: int, hard: int) -> None:
    """Set a resource limit, but never above the limit in force."""
    top = resource.getrlimit(kind)[1]
    top = hard if top == resource.RLIM_INFINITY else min(hard, top)
    resource.setrlimit(kind, (min(soft, top), top))


def recover(program: int) -> tuple[int, float, float, int]:
    """Reap processes until the program ends.

    Returns its wait status, CPU times in seconds and peak memory in KiB.

    The times include all processes that ended before the program.
    """
    user = system = 0.0
    peak = 0
    while True:
        pid, status, usage = os.wait4(-1, 0)
        user += usage.ru_utime
        system += usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
        if pid == program:
            return status, user, system, peak


def give_up(number: int, frame: object) -> None:
    """The signal handler for the node's end: end the job and this process."""
    del number, frame
    kill_rest()
    os._exit(0)


def kill_rest() -> None:
    """Kill all descendants. Orphans become children of this process, so none of them escapes."""
    while True:
        try:
            with open("/proc/self/task/%d/children" % os.getpid(), "rb") as children:
                pids = [int(pid) for pid in children.read().split()]
        except OSError:
            return
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, SIGKILL)
            except OSError:
                pass
        try:
            os.wait4(-1, 0)
        except OSError:
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), confined=sys.argv[2] == "confined")
