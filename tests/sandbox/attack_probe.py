"""A catalogue of attacks. Runs by its path: inside, as a job's program; outside, by root, as the control.

Prints a line for each attack: its name, and OPEN or the error. Numbers of system calls are pairs for x86-64
and aarch64.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ABSTRACT, PATHNAME, SECRET, PORT, SUPERVISION = sys.argv[1:6]
# True in the control: it attacks only private namespaces and objects of its own, and leaves no traces.
OUTSIDE = sys.argv[6:] == ["outside"]
SUPERVISION = int(SUPERVISION) or os.getppid()
HOME, TEMPORARY = os.path.expanduser("~"), tempfile.gettempdir()
X86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(x86, arm, *arguments):
    result = libc.syscall(x86 if X86 else arm, *arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def attempt(name, function, *arguments):
    try:
        function(*arguments)
        outcome = "OPEN"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno, str(error))
    except KeyError:
        outcome = "ENOENT"
    print(json.dumps([name, outcome]), flush=True)


def forked(function, *arguments):
    pid = os.fork()
    if pid == 0:
        try:
            function(*arguments)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 99)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "forked")


def truthy(value):
    if not value:
        raise OSError(errno.ENOENT, "nothing")


def read(path):
    with open(path, "rb") as file:
        truthy(file.read(1 << 16))


def write(folder):
    """A file of ours in that folder; in the control, one without a name."""
    if OUTSIDE:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
        return
    open(os.path.join(folder, "x"), "w").close()


def open_to_write(path):
    os.close(os.open(path, os.O_WRONLY))


def connect(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)


def send_datagram(address):
    """Send by a socket that takes an address with each message."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        with contextlib.suppress(OSError):
            one, _ = socket.socketpair(socket.AF_UNIX, kind)
            one.sendto(b"x", address)
            return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", address)


def own_listener():
    """Connect as multiprocessing does to pass descriptors, and a DataLoader to pass tensors."""
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(os.path.join(TEMPORARY, "listener"))
        server.listen()
        client.connect(os.path.join(TEMPORARY, "listener"))


def private_mounts():
    """In the control, use a private mount namespace: it ends with this process."""
    if OUTSIDE:
        call(272, 97, 0x20000)
        libc.mount(b"none", b"/", None, ctypes.c_ulong(16384 | 1 << 18), None)


class CloneArguments(ctypes.Structure):
    names = ("flags", "pidfd", "child", "parent", "signal", "stack", "size", "tls", "set", "sets")
    _fields_ = [(name, ctypes.c_uint64) for name in names]


def clone3():
    arguments = CloneArguments(flags=0x10000000, signal=17)
    if call(435, 435, ctypes.byref(arguments), 80) == 0:
        os._exit(0)


def setuid_file():
    """A setuid file that would work: the file system respects the bit, and no_new_privs is not set."""
    copy = os.path.join(TEMPORARY, "id")
    shutil.copyfile("/usr/bin/id", copy)
    os.chmod(copy, 0o4755)
    flags = os.statvfs(copy).f_flag
    with open("/proc/self/status") as file:
        truthy(not flags & os.ST_NOSUID and "NoNewPrivs:\t0" in file.read())


def pivot_root():
    private_mounts()
    folder = os.path.join(TEMPORARY, "root").encode()
    os.makedirs(folder, exist_ok=True)
    if OUTSIDE:
        call(165, 40, b"x", folder, b"tmpfs", 0, 0)
    call(155, 41, folder, folder)


def mount_over(path):
    private_mounts()
    os.makedirs(path, exist_ok=True)
    call(165, 40, b"x", path.encode(), b"tmpfs", 0, 0)


def remount():
    private_mounts()
    if OUTSIDE:
        call(165, 40, b"/usr", b"/usr", None, 4096, None)
    call(165, 40, b"x", b"/usr", None, 32 | 4096, None)


def unmount():
    private_mounts()
    if OUTSIDE:
        call(165, 40, b"x", TEMPORARY.encode(), b"tmpfs", 0, 0)
    call(166, 39, TEMPORARY.encode() if OUTSIDE else HOME.encode(), 2)


def trace(pid):
    """Attach without stopping the process, and detach."""
    call(101, 117, 0x4206, pid, 0, 0)
    if OUTSIDE:
        libc.syscall(101 if X86 else 117, 17, pid, 0, 0)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_memory(pid):
    with open("/proc/%d/maps" % pid) as file:
        start = int(next(line for line in file if " r" in line).split("-")[0], 16)
    into = ctypes.create_string_buffer(8)
    ours, theirs = Vector(ctypes.addressof(into), 8), Vector(start, 8)
    # The last argument is on the stack, where the rest of the word must be zero as well.
    call(310, 270, pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, ctypes.c_ulong(0))


def performance():
    attributes = struct.pack("=IIQ", 1, 112, 0) + bytes(24) + struct.pack("=Q", 0x61) + bytes(64)
    os.close(call(298, 241, attributes, 0, -1, -1, 0))


def other_processes():
    mine = {os.getpid(), os.getppid(), 1, SUPERVISION}
    truthy([name for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine])


def environments():
    """Find the node's secret in the environment or arguments of any process."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        for part in ("environ", "cmdline"):
            with contextlib.suppress(OSError), open("/proc/%s/%s" % (name, part), "rb") as file:
                if b"hunter2" in file.read():
                    return
    truthy(False)


def inherited():
    """Find descriptors other than the streams and the report channel."""
    for name in os.listdir("/proc/self/fd"):
        target = "/proc/"
        with contextlib.suppress(OSError):
            target = os.readlink("/proc/self/fd/" + name)
        if int(name) > 2 and int(name) != 63 and not target.startswith("/proc/"):
            return
    truthy(False)


def kill(pid):
    """Succeeds only if the process ends: pid 1 of a namespace ignores signals from inside."""
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.1)
    with open("/proc/%d/stat" % pid) as file:
        truthy(file.read().rpartition(")")[2].split()[0] == "Z")


def terminal_input():
    """Push a character into the controlling terminal, which the standard input may be."""
    fd = os.openpty()[1]
    forked(lambda: [os.setsid(), fcntl.ioctl(fd, 0x540E, 0), fcntl.ioctl(fd, 0x5412, b"x")])


def leaks():
    attempt("shadow", read, "/etc/shadow")
    attempt("a file of the host", read, SECRET)
    if not OUTSIDE:
        attempt("a file of the host by pid 1", read, "/proc/1/root" + SECRET)
    attempt("a file of the host by the supervision", read, "/proc/%d/root%s" % (SUPERVISION, SECRET))
    mounts = open("/proc/self/mountinfo").read()
    # Without a way to what is mounted below it.
    is_hidden = lambda name: " /root/%s" % name not in mounts  # noqa: E731
    attempt("root's home", lambda: truthy(list(filter(is_hidden, os.listdir("/root")))))
    attempt("mounts of the host", lambda: truthy("/sys/fs/cgroup" in mounts))
    attempt("the node's environment", environments)
    attempt("the node's descriptors", inherited)
    attempt("a key of the node", lambda: call(250, 219, 10, -3, b"user", b"samehere-test", 0))
    attempt("cgroup file system", lambda: truthy(os.listdir("/sys/fs/cgroup")))
    devices = {"vda", "kvm", "mem", "kmsg", "vsock", "fuse", "net", "loop0"}
    attempt("devices of the host", lambda: truthy(devices & set(os.listdir("/dev"))))
    attempt("kernel log", lambda: call(103, 116, 3, ctypes.create_string_buffer(64), 64))


def network():
    address = ("127.0.0.1", int(PORT))
    attempt("a service on the host's loopback", lambda: socket.create_connection(address, 2).close())
    attempt("a route", lambda: truthy(len(open("/proc/net/route").read().splitlines()) > 1))
    attempt("a datagram to the host's loopback", datagrams, address)
    attempt("abstract unix socket", connect, "\0" + ABSTRACT)
    attempt("pathname unix socket", connect, PATHNAME)
    attempt("datagram to a pathname unix socket", send_datagram, PATHNAME + "-datagrams")
    kinds = {
        "vsock": (40, 1, 0), "packet": (17, 3, 0), "crypto": (38, 5, 0), "netlink audit": (16, 3, 9),
        "netlink filter": (16, 3, 12), "bluetooth": (31, 3, 0), "xdp": (44, 3, 0), "key": (15, 3, 2),
        "rds": (21, 5, 0),
    }  # fmt: skip
    for name, kind in kinds.items():
        attempt("socket: " + name, lambda kind=kind: socket.socket(*kind).close())


def datagrams(address):
    """Send a datagram, which proves nothing, and another one, whose answer shows that somebody is there."""
    socket.socket(2, 2).sendto(b"x", address)
    with socket.socket(2, 2) as client:
        client.connect(address)
        client.settimeout(2)
        client.send(b"ping")
        client.recv(16)


def processes():
    attempt("processes of the host", other_processes)
    attempt("trace the supervision", trace, SUPERVISION)
    attempt("memory of the supervision", open_to_write, "/proc/%d/mem" % SUPERVISION)
    attempt("read the supervision's memory", read_memory, SUPERVISION)
    pidfd = os.pidfd_open
    attempt("descriptor of the supervision", lambda: os.close(call(438, 438, pidfd(SUPERVISION), 0, 0)))
    attempt("trace oneself", forked, lambda: call(101, 117, 0, 0, 0, 0))
    attempt("read one's own memory by a call", read_memory, os.getpid())
    limits = struct.pack("=QQ", 512, 512)
    attempt("limits of the supervision", lambda: call(302, 261, SUPERVISION, 7, limits, 0))
    attempt("shared memory of the host", lambda: call(29, 194, int(PORT), 4096, 0))
    attempt("mode of a file of the host", os.chmod, SECRET, 0o644)
    attempt("kill the supervision", kill, SUPERVISION)


def writing():
    attempt("overwrite own interpreter", open_to_write, "/proc/self/exe")
    attempt("overwrite a program", open_to_write, "/usr/bin/env")
    toolchain, own = os.path.dirname(os.__file__), "/run" if OUTSIDE else "/run/samehere"
    for folder in ("/usr", "/etc", "/", own, toolchain, "/var/tmp"):
        name = "the toolchain" if "python" in folder else folder.replace("/run/samehere", "/run")
        attempt("write " + name, write, folder)
    attempt("write /dev", write, "/dev" if not OUTSIDE else "/dev/shm")
    attempt("core_pattern", open_to_write, "/proc/sys/kernel/core_pattern")
    attempt("sysrq", open_to_write, "/proc/sysrq-trigger")
    attempt("uevent_helper", open_to_write, "/sys/kernel/uevent_helper")
    attempt("a setuid file", setuid_file)
    attempt("mknod", lambda: os.mknod(os.path.join(TEMPORARY, "vda"), 0o60666, os.makedev(254, 0)))


def privileges():
    attempt("add_key", lambda: call(248, 217, b"user", b"zz", b"yy", 2, -4))
    attempt("unshare user", forked, lambda: call(272, 97, 0x10000000))
    attempt("unshare net", forked, lambda: call(272, 97, 0x40000000))
    attempt("unshare mounts", forked, lambda: call(272, 97, 0x20000))
    attempt("clone user", lambda: call(56, 220, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0))
    attempt("clone3 user", clone3)
    attempt("setns", lambda: call(308, 268, os.open("/proc/self/ns/net", os.O_RDONLY), 0))
    attempt("mount", forked, mount_over, os.path.join(TEMPORARY, "mounted"))
    attempt("remount /usr", forked, remount)
    attempt("umount", forked, unmount)
    attempt("fsopen", lambda: os.close(call(430, 430, b"tmpfs", 0)))
    attempt("open_tree", lambda: os.close(call(428, 428, -100, TEMPORARY.encode(), 1)))
    attempt("chroot", forked, lambda: os.chroot(TEMPORARY))
    attempt("pivot_root", forked, pivot_root)
    attempt("sethostname", lambda: socket.sethostname("x"))
    attempt("setuid", lambda: os.setuid(0))
    attempt("setpriority", forked, lambda: os.setpriority(0, 0, -5))
    attempt("real time", forked, lambda: os.sched_setscheduler(0, 1, os.sched_param(1)))
    attempt("acct", lambda: call(163, 89, 0))


def kernel():
    attempt("io_uring", lambda: os.close(call(425, 425, 4, ctypes.create_string_buffer(120))))
    attempt("perf_event_open", performance)
    attempt("bpf", lambda: os.close(call(321, 280, 0, struct.pack("=IIII", 2, 4, 4, 1) + bytes(112), 128)))
    attempt("userfaultfd", lambda: os.close(call(323, 282, 1)))
    attempt("personality", forked, lambda: call(135, 92, 0x400000))
    handle = struct.pack("II", 128, 0) + bytes(128)
    number = ctypes.byref(ctypes.c_int())
    attempt("name_to_handle_at", lambda: call(303, 264, -100, b"/usr", handle, number, 0))
    attempt("fanotify", lambda: os.close(call(300, 262, 0, 0)))
    attempt("a call newer than the list", lambda: call(480, 480))
    attempt("a terminal's input", terminal_input)
    if X86:
        attempt("x32", lambda: call(0x40000000 | 39, 0))
        attempt("modify_ldt", lambda: call(154, 0, 0, ctypes.create_string_buffer(16), 16))
        attempt("iopl", lambda: call(172, 0, 3))


def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def shared_memory():
    import multiprocessing.shared_memory

    block = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    block.close()
    block.unlink()


def works():
    attempt("works: threads", lambda: threading.Thread(target=int).start())
    attempt("works: a child", forked, int)
    attempt("works: a program of the system", lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True))
    attempt("works: own loopback", own_loopback)
    attempt("works: a socket of one's own", own_listener)
    attempt("works: a pair of sockets", lambda: [end.close() for end in socket.socketpair()])
    attempt("works: name of localhost", lambda: socket.getaddrinfo("localhost", 1))
    attempt("works: own name", lambda: truthy(__import__("pwd").getpwuid(os.getuid()).pw_name == "u"))
    attempt("works: the folder for temporary files", write, TEMPORARY)
    attempt("works: home", write, HOME)
    attempt("works: /tmp by name", write, "/tmp")
    attempt("works: mode of an own file", lambda: os.chmod(os.path.join(TEMPORARY, "x"), 0o600))
    attempt("works: shared memory", shared_memory)
    attempt("works: semaphore", lambda: __import__("multiprocessing").get_context("fork").Semaphore())
    attempt("works: terminal", lambda: [os.close(fd) for fd in os.openpty()])
    attempt("works: randomness", read, "/dev/urandom")
    attempt("works: processors", lambda: truthy(os.listdir("/sys/devices/system/cpu")))
    attempt("works: signal to a child", child_ends_by, signal.SIGTERM)


def child_ends_by(number):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    os.kill(pid, number)
    truthy(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -number)


for part in (leaks, network, processes, writing, privileges, kernel):
    part()
if not OUTSIDE:
    works()
