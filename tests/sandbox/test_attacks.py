"""A catalogue of ways out, each tried from inside; what must go on working is tried beside it."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_jobs import Jobs

# Each line: a name, and what came of it. Numbers of system calls by machine, as the sandbox's own tables cover both.
PROBE = r"""
import ctypes, errno, fcntl, json, os, platform, socket, struct, subprocess, sys
ABSTRACT, PATHNAME, SECRET, PORT = sys.argv[1:5]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"

def call(x86, arm, *arguments):
    if libc.syscall(x86 if X86 else arm, *arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

def attempt(name, function):
    try:
        function()
        outcome = "OPEN"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno, str(error))
    print(json.dumps([name, outcome]), flush=True)

def forked(function):
    pid = os.fork()
    if pid == 0:
        try: function(); os._exit(0)
        except OSError as error: os._exit(error.errno or 99)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code: raise OSError(code, "forked")

def connect(address):
    client = socket.socket(socket.AF_UNIX)
    client.connect(address)

def truthy(value):
    if not value: raise OSError(errno.ENOENT, "nothing")

class CloneArguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in "flags pidfd child parent signal stack size tls set sets cgroup".split()]

def clone3():
    arguments = CloneArguments(flags=0x10000000, signal=17)
    if libc.syscall(435, ctypes.byref(arguments), 88) == 0: os._exit(0)
    number = ctypes.get_errno()
    if number: raise OSError(number, "")

def clone():
    pid = libc.syscall(56 if X86 else 220, 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid < 0: raise OSError(ctypes.get_errno(), "")

def suid():
    import shutil
    shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o4755)
    truthy(not any(" /tmp " in line and "nosuid" in line for line in open("/proc/self/mountinfo")))

def shared_memory():
    import multiprocessing.shared_memory
    multiprocessing.shared_memory.SharedMemory(create=True, size=4096).unlink()

def loopback():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname())

attempt("shadow", lambda: open("/etc/shadow").read())
attempt("a file of the host", lambda: open(SECRET).read())
attempt("a file of the host by pid 1", lambda: open("/proc/1/root" + SECRET).read())
attempt("root's home", lambda: truthy(set(os.listdir("/root")) - {".pyenv"}))
attempt("mounts that tell of the host", lambda: truthy("/sys/fs/cgroup" in open("/proc/self/mountinfo").read()))
attempt("a service on the host's loopback", lambda: socket.create_connection(("127.0.0.1", int(PORT)), 2).close())
attempt("a route", lambda: truthy(len(open("/proc/net/route").read().splitlines()) > 1))
attempt("udp to outside", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)))
attempt("abstract unix socket", lambda: connect("\0" + ABSTRACT))
attempt("pathname unix socket", lambda: connect(PATHNAME))
attempt("signal to parent of pid 1", lambda: os.kill(0x7ffffff0 & 0x3fffff, 0))
attempt("ptrace pid 1", lambda: call(101, 117, 16, 1, 0, 0))
attempt("ptrace oneself", lambda: call(101, 117, 0, 0, 0, 0))
attempt("process_vm_readv", lambda: call(310, 270, os.getpid(), 0, 0, 0, 0, 0))
attempt("pidfd_getfd", lambda: call(438, 438, os.pidfd_open(os.getpid()), 0, 0))
attempt("overwrite own interpreter", lambda: os.close(os.open("/proc/self/exe", os.O_WRONLY)))
attempt("write /usr", lambda: open("/usr/x", "w"))
attempt("write /etc", lambda: open("/etc/x", "w"))
attempt("write /", lambda: open("/x", "w"))
attempt("write /run/samehere", lambda: open("/run/samehere/x", "w"))
attempt("write the toolchain", lambda: open(os.path.dirname(os.__file__) + "/x.py", "w"))
attempt("a setuid file", suid)
attempt("add_key", lambda: call(248, 217, b"user", b"zz", b"yy", 2, -4))
attempt("unshare user", lambda: forked(lambda: call(272, 97, 0x10000000)))
attempt("unshare net", lambda: forked(lambda: call(272, 97, 0x40000000)))
attempt("unshare mounts", lambda: forked(lambda: call(272, 97, 0x20000)))
attempt("clone user", clone)
attempt("clone3 user", clone3)
attempt("setns", lambda: call(308, 268, os.open("/proc/self/ns/net", 0), 0))
attempt("mount", lambda: call(165, 40, b"x", b"/tmp", b"tmpfs", 0, 0))
attempt("remount /usr", lambda: call(165, 40, b"x", b"/usr", None, 32 | 4096, None))
attempt("umount /home/u", lambda: call(166, 39, b"/home/u", 2))
attempt("fsopen", lambda: call(430, 430, b"tmpfs", 0))
attempt("open_tree", lambda: call(428, 428, -100, b"/tmp", 1))
attempt("chroot", lambda: forked(lambda: os.chroot("/tmp")))
attempt("pivot_root", lambda: call(155, 41, b"/tmp", b"/tmp"))
attempt("mknod", lambda: os.mknod("/tmp/vda", 0o60666, os.makedev(254, 0)))
attempt("sethostname", lambda: socket.sethostname("x"))
attempt("io_uring", lambda: call(425, 425, 4, ctypes.create_string_buffer(120)))
attempt("perf_event_open", lambda: call(298, 241, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("bpf", lambda: call(321, 280, 5, ctypes.create_string_buffer(128), 128))
attempt("userfaultfd", lambda: call(323, 282, 1))
attempt("personality", lambda: forked(lambda: call(135, 92, 0x400000)))
attempt("name_to_handle_at", lambda: call(303, 264, -100, b"/usr", struct.pack("II", 128, 0) + bytes(128), ctypes.byref(ctypes.c_int()), 0))
attempt("fanotify", lambda: call(300, 262, 0, 0))
attempt("kernel log", lambda: call(103, 116, 3, ctypes.create_string_buffer(64), 64))
attempt("acct", lambda: call(163, 89, 0))
attempt("a call newer than the list", lambda: call(480, 480))
attempt("sysrq", lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)))
attempt("uevent_helper", lambda: open("/sys/kernel/uevent_helper", "w").close())
attempt("cgroup file system", lambda: os.listdir("/sys/fs/cgroup"))
attempt("devices of the host", lambda: truthy({"vda", "kvm", "mem", "kmsg", "vsock", "fuse", "net", "loop0"} & set(os.listdir("/dev"))))
attempt("a terminal's input", lambda: fcntl.ioctl(os.openpty()[1], 0x5412, b"x"))
attempt("processes of the host", lambda: truthy(sum(name.isdigit() for name in os.listdir("/proc")) > 2))
attempt("setuid", lambda: os.setuid(0))
if X86:
    attempt("x32", lambda: call(0x40000000 | 39, 0))
    attempt("modify_ldt", lambda: call(154, 0, 0, ctypes.create_string_buffer(16), 16))
    attempt("iopl", lambda: call(172, 0, 3))

attempt("works: threads", lambda: __import__("threading").Thread(target=int).start())
attempt("works: a child", lambda: forked(lambda: None))
attempt("works: a program of the system", lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True))
attempt("works: own loopback", loopback)
attempt("works: name of localhost", lambda: socket.getaddrinfo("localhost", 1))
attempt("works: own name", lambda: __import__("pwd").getpwuid(os.getuid()).pw_name == "u" or truthy(False))
attempt("works: /tmp", lambda: open("/tmp/x", "w").write("x"))
attempt("works: shared memory", shared_memory)
attempt("works: semaphore", lambda: __import__("multiprocessing").get_context("fork").Semaphore())
attempt("works: terminal", lambda: os.openpty())
attempt("works: randomness", lambda: open("/dev/urandom", "rb").read(1))
attempt("works: processors", lambda: os.listdir("/sys/devices/system/cpu"))
"""


@pytest.fixture(scope="module")
def bait() -> Iterator[tuple[str, str, str, str]]:
    """A secret file, a service on loopback, and two unix sockets on the host."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        secret = Path(folder, "database")
        secret.write_text("row")
        secret.chmod(0o644)
        abstract, pathname, tcp = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 0))
        name = Path(folder).name
        abstract.bind(f"\0{name}")
        pathname.bind(f"{folder}/socket")
        Path(folder, "socket").chmod(0o777)
        for server in (abstract, pathname):
            server.listen(16)
        yield name, f"{folder}/socket", str(secret), str(tcp.getsockname()[1])
        for server in (abstract, pathname, tcp):
            server.close()


def test_nothing_gets_out_and_what_torch_needs_works(jobs: Jobs, bait: tuple[str, str, str, str]) -> None:
    tried = dict(json.loads(line) for line in jobs.said(PROBE, *bait).splitlines())
    works = {name: outcome for name, outcome in tried.items() if name.startswith("works: ")}
    held = {name: outcome for name, outcome in tried.items() if name not in works}
    assert {name: outcome for name, outcome in held.items() if outcome == "OPEN"} == {}
    assert {name: outcome for name, outcome in works.items() if outcome != "OPEN"} == {}
    assert len(held) > 50
    # By the filter, not only by what this kernel happens to refuse.
    for name in ("ptrace oneself", "bpf", "acct", "kernel log", "add_key", "personality", "name_to_handle_at", "process_vm_readv"):
        assert held[name] == "EPERM", name
    for name in ("clone3 user", "io_uring", "a call newer than the list"):
        assert held[name] == "ENOSYS", name


def test_the_bait_is_real(bait: tuple[str, str, str, str]) -> None:
    """The control: on the host, all of it is within reach."""
    abstract, pathname, secret, port = bait
    for address in (f"\0{abstract}", pathname):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(address)
    socket.create_connection(("127.0.0.1", int(port)), 2).close()
    assert Path(secret).read_text() == "row"


def test_two_slots_at_once_see_nothing_of_each_other(jobs: Jobs) -> None:
    source = "import os, time; time.sleep(0.5); print(sorted(name for name in os.listdir('/proc') if name.isdigit()))"
    said: list[str] = []
    other = threading.Thread(target=lambda: said.append(jobs.said(source)))
    other.start()
    other.join()
    assert said == ["['1', '2']\n"]
