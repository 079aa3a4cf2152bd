"""pid 1 of a sandbox: starts the program, reaps, and says the exact wait status on a socket that the program never holds.

Runs by path on the toolchain's interpreter with `-I -S -E`: Python 3.8 syntax, and only modules that start in no time.
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


def main(control_fd: int, *, confined: bool) -> None:
    """As a program of its own."""
    prctl = ctypes.CDLL(None).prctl
    raise_oom_score()
    # The program can neither trace this process nor read its memory, environment or descriptors under /proc.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if not confined:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Without a pid namespace the node's end does not end what runs below: this process does, and then ends as well.
        _signal.signal(SIGTERM, give_up)
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0)
    os.set_inheritable(control_fd, False)
    serve(_socket.socket(fileno=control_fd), prctl, confined=confined, start=start)


def serve(
    control: _socket.socket, prctl: Callable[..., int], *, confined: bool, start: Callable[..., None]
) -> None:
    """Say ready, take the configuration, run, report. Returns only in a program that is a fork of this process and no new one."""
    say_ready(control, ("/tmp", "/dev/shm", "/home/u") if confined else ())  # noqa: S108
    config = control.recv(CONFIG_BYTES)
    if not config:
        os._exit(0)
    began = time.monotonic()
    # Pid 1 is deaf to the signals that it does not catch, and Python catches this one: the program could end its own supervision.
    caught = _signal.signal(SIGINT, _signal.SIG_IGN)
    program = os.fork()
    if program == 0:
        _signal.signal(SIGINT, caught)
        start(control, config, prctl)
        return
    status, user, system, peak = reap(program)
    if not confined:
        kill_rest()
    wall = time.monotonic() - began
    control.send(b"exit %d %.6f %.6f %d %.6f" % (status, user, system, peak, wall))
    os._exit(0)


def raise_oom_score() -> None:
    """Where the whole machine runs out of memory, the job dies before the node. Only a process that others may trace can say so."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(fd, b"600")
    except OSError:
        pass
    os.close(fd)


def say_ready(control: _socket.socket, folders: tuple[str, ...]) -> None:
    """Hand out the writable folders: their use is watched through these, whatever the program does."""
    fds = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders]
    rights = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    control.sendmsg([b"ready"], [(_socket.SOL_SOCKET, SCM_RIGHTS, rights)] if fds else [])
    for fd in fds:
        os.close(fd)


def start(control: _socket.socket, config: bytes, prctl: Callable[..., int]) -> None:
    """In the child: become the program."""
    kept = control.fileno()
    try:
        fields = config.split(b"\0")
        kept = clear_of(kept, int(fields[2]))
        # This interpreter ignores some, and whoever started the node in the background others; a program inherits the default.
        for number in _signal.valid_signals():
            if _signal.getsignal(number) == _signal.SIG_IGN:
                _signal.signal(number, _signal.SIG_DFL)
        arguments, variables = settle(fields, (kept,), prctl)
        if len(sys.argv) > 3:
            close_in(sys.argv[3])
        os.execve(arguments[0], arguments, variables)
    except BaseException as error:  # whatever it is, it is not the program's exit
        say_failed(kept, error)
    finally:
        os._exit(127)


def clear_of(fd: int, taken: int) -> int:
    """The same open file under a number that nothing else is to have."""
    return os.dup(fd) if fd == taken else fd


def say_failed(control: int, error: BaseException) -> None:
    _socket.socket(fileno=os.dup(control)).send(b"failed %d" % (getattr(error, "errno", None) or 0))


def settle(
    fields: list[bytes], kept: tuple[int, ...], prctl: Callable[..., int]
) -> tuple[list[bytes], dict[bytes, bytes]]:
    """A session, folder and limits of its own, and the descriptors 0, 1, 2 and the report channel, beside those that are kept."""
    report_from, report_to, count = int(fields[1]), int(fields[2]), int(fields[4])
    arguments = fields[5 : 5 + count]
    variables = dict(field.split(b"=", 1) for field in fields[5 + count :])
    os.setsid()
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.dup2(report_from, report_to, inheritable=True)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in (*kept, report_to):
            try:
                os.close(int(name))
            except OSError:
                pass
    # Whoever started the node may have blocked some, even one of glibc's own.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    for limit in fields[0].split():
        limit_to(*(int(number) for number in limit.split(b":")))
    os.umask(0o022)
    os.chdir(fields[3])
    return arguments, variables


def close_in(folder: str) -> None:
    """Without namespaces: by the module that lies in this folder, with what it is to read there."""
    scope: dict[str, Callable[[str], None]] = {}
    with open(folder + "/confine.py", "rb") as file:
        exec(compile(file.read(), "confine.py", "exec"), scope)  # noqa: S102
    scope["confine"](folder + "/walls")


def limit_to(kind: int, soft: int, hard: int) -> None:
    """Never above what is in force."""
    top = resource.getrlimit(kind)[1]
    top = hard if top == resource.RLIM_INFINITY else min(hard, top)
    resource.setrlimit(kind, (min(soft, top), top))


def reap(program: int) -> tuple[int, float, float, int]:
    """Until the program ends; what it left behind is counted as far as it ended before."""
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
    """The node is gone."""
    del number, frame
    kill_rest()
    os._exit(0)


def kill_rest() -> None:
    """Without a pid namespace: this process adopts every orphan, so nothing below it survives."""
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
