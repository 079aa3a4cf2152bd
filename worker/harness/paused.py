"""An interpreter that stops before the script, with torch imported, and goes on in a fork of itself for each job.

It pauses inside the start-up of CPython, in the hook of the toolchain: a fork only has to return from here, and CPython itself opens
and runs the script, with the same frames, tracebacks and end as in a process of its own. What a fork inherits and a cold start has
not is undone before: seeds, modules that the script has not imported yet, descriptors.

Started twice: first by path, to become the script's interpreter with nothing inherited from the node, then by the hook.
"""

import os
import sys

FOLDER = "/run/samehere/"
CONFIG_PATH = FOLDER + "harness.json"
MESSAGE_BYTES = 1 << 16
MOST_DESCRIPTORS = 32
SCM_RIGHTS = 1
PIDFD_OPEN = 434  # on every architecture
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 4, 22, 24, 47
SECCOMP_MODE_FILTER, PR_CAP_AMBIENT_CLEAR_ALL = 2, 4
CAPABILITY_VERSION = 0x20080522
NEW_NAMESPACES = (
    0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
)  # user mnt pid net ipc uts cgroup
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x49
# What a script could look at so that its process, started this way, differs from one of its own.
OBSERVERS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
# Where a path could come to be that leads an import elsewhere, with the path's place among the arguments.
PATH_MAKERS = {"open": 0, "os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}
TRIPPED = 121


def read_config():
    with open(CONFIG_PATH, encoding="utf-8") as file:
        # As in the harness: importing json would show in the script's sys.modules.
        return eval(file.read(), {"__builtins__": {}, "true": True, "false": False, "null": None})  # noqa: S307


def load(name, as_name):
    """One of our own programs, as a namespace; no module of it is left behind."""
    namespace = {"__name__": as_name}
    with open(FOLDER + name, "rb") as file:
        exec(compile(file.read(), FOLDER + name, "exec"), namespace)  # noqa: S102
    return namespace


def become_interpreter(config):
    """With signals, limits and variables as the script's own process would have them."""
    init = load("init.py", "samehere_init")
    signals = init["_signal"]
    for number in signals.valid_signals():
        if signals.getsignal(number) == signals.SIG_IGN:
            signals.signal(number, signals.SIG_DFL)
    signals.pthread_sigmask(signals.SIG_SETMASK, ())
    for kind, (soft, hard) in config["limits"].items():
        init["limit_to"](int(kind), soft, hard)
    os.set_inheritable(config["control_fd"], True)
    os.chdir("/home/u")
    os.execve(config["argv"][0], config["argv"], config["variables"])  # noqa: S606


def reseed():
    """What a process of its own draws at start and a fork shares with its siblings; Python's own generator does so by itself."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None:
        torch.default_generator.seed()
    if numpy is not None and "numpy.random" in sys.modules:
        numpy.random.seed(None)


def leads_elsewhere(event, arguments, imported):
    """Whether a path comes to be at which an import of one of these, by the same script started cold, would find something else."""
    path = arguments[PATH_MAKERS[event]]
    if not isinstance(path, (str, bytes)) or (
        event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        return False
    stem, _, suffix = os.fsdecode(path).rpartition("/")[2].partition(".")
    return stem in imported and (suffix.endswith(("py", "pyc", "so")) or (event != "open" and not suffix))


def problem():
    """Why forks of this process could not do what a process of its own can; empty when they can."""
    # Before a fork numpy's BLAS ends its threads, one for each core, and a fork makes its own; those of others would be missing in it.
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        threads = next(int(line.split()[1]) for line in file if line.startswith("Threads:"))
    if threads > 1:
        return "%d threads after the import" % threads
    # The driver may be loaded; once it was started, a fork can't use it. The descriptor of the listing itself is gone again.
    if any(
        os.path.realpath("/proc/self/fd/" + name).startswith("/dev/nvidia")
        for name in os.listdir("/proc/self/fd")
    ):
        return "a card is open after the import"
    return ""


class Pause:
    def __init__(self, config):
        self.config = config
        before = set(sys.modules)
        # What site reads meanwhile and will close itself.
        self.kept = tuple(
            int(name) for name in os.listdir("/proc/self/fd") if 2 < int(name) != config["control_fd"]
        )
        self.watch = load("watch.py", "samehere_paused")
        self.watch["__name__"] = "samehere_harness"
        self.watcher = self.watch["Watch"]()
        self.watcher.register()
        for name in config["modules"]:
            __import__(name)
        self.finder = load("hidden.py", "samehere_harness")
        self.hidden, self.roots = self.finder["third_party"](before)
        self.known = set(sys.modules)
        self.freeze()
        self.init = load("init.py", "samehere_init")
        ctypes = self.init["ctypes"]
        self.ctypes = ctypes
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.socket = self.init["_socket"]
        with open(FOLDER + "filter", "rb") as file:
            self.filter = file.read()
        self.control = self.socket.socket(fileno=config["control_fd"])
        os.set_inheritable(config["control_fd"], False)

    @staticmethod
    def freeze():
        """So that a fork neither copies nor walks what all share."""
        import gc

        gc.collect()
        gc.freeze()
        # What the script leaves in a frozen namespace would never be collected: neither `__del__` nor `finally` would run at the end.
        main = type(sys)("__main__")
        main.__dict__.clear()
        main.__dict__.update(vars(sys.modules["__main__"]))
        sys.modules["__main__"] = main

    def check(self, result, what):
        if result:
            number = self.ctypes.get_errno()
            raise OSError(number, "%s: %s" % (what, os.strerror(number)))

    def mount(self, source, target, kind, flags, options=None):
        texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
        self.check(
            self.libc.mount(texts[0], texts[1], texts[2], self.ctypes.c_ulong(flags), texts[3]),
            "mount " + target,
        )

    def receive(self):
        """A message and its descriptors; empty when nobody will send one any more."""
        space = self.socket.CMSG_SPACE(4 * MOST_DESCRIPTORS)
        message, extra, _, _ = self.control.recvmsg(MESSAGE_BYTES, space)
        fds = []
        for level, kind, data in extra:
            if level == self.socket.SOL_SOCKET and kind == SCM_RIGHTS:
                fds += [
                    int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) // 4 * 4, 4)
                ]
        return message, fds

    def wait(self):
        """Until a job comes. Returns in a script's own process only."""
        trouble = problem()
        alone = self.rehearse() if self.config["forks"] and not trouble else ""
        self.control.send(
            b"trouble " + trouble.encode() if trouble else b"alone " + alone.encode() if alone else b"ready"
        )
        if not self.config["forks"]:
            message, fds = self.receive()
            if not message:
                os._exit(0)
            self.take(message, fds)
            return
        signals = self.init["_signal"]
        # The kernel reaps what ends.
        signals.signal(signals.SIGCHLD, signals.SIG_IGN)
        while True:
            message, fds = self.receive()
            if not message:
                os._exit(0)
            if os.fork() == 0:
                self.enter(fds[2])
                signals.signal(signals.SIGCHLD, signals.SIG_DFL)
                self.take(message, fds)
                return
            for fd in fds:
                os.close(fd)

    def rehearse(self):
        """Whether this system lets a fork have namespaces of its own; why not, otherwise."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.enter(writing)
                self.furnish(1 << 20)
            except BaseException as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        said = b""
        while True:
            chunk = os.read(reading, 4096)
            if not chunk:
                break
            said += chunk
        os.close(reading)
        os.waitpid(pid, 0)
        self.reap_all()
        return said.decode(errors="replace")

    @staticmethod
    def reap_all():
        """Those that a child left behind become ours, since this is pid 1."""
        try:
            while True:
                os.wait()
        except OSError:
            return

    def enter(self, complaints):
        """Namespaces of its own; goes on as pid 1 in them."""
        try:
            uid, gid = os.getuid(), os.getgid()
            self.check(self.libc.unshare(NEW_NAMESPACES), "unshare")
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", "%d %d 1" % (uid, uid)),
                ("gid_map", "%d %d 1" % (gid, gid)),
            ):
                with open("/proc/self/" + name, "w", encoding="ascii") as file:
                    file.write(text)
            if os.fork():
                os._exit(0)
        except BaseException as error:
            os.write(complaints, str(error).encode())
            os._exit(1)

    def take(self, message, fds):
        """Pid 1 of the job: say so, set everything up, start the program and report its end. Returns in the program only."""
        control_fd, stdout, stderr, report = fds[:4]
        try:
            self.control.close()
            control = self.socket.socket(fileno=control_fd)
            pidfd = self.libc.syscall(PIDFD_OPEN, os.getpid(), 0)
            rights = [(self.socket.SOL_SOCKET, SCM_RIGHTS, pidfd.to_bytes(4, sys.byteorder))]
            control.sendmsg([b"init %d" % report], rights)
            os.close(pidfd)
            # Opened anew: flags and locks of an open file stay with all who share it, the next job too.
            nothing = os.open("/dev/null", os.O_RDWR)
            for fd, number in ((nothing, 0), (stdout, 1), (stderr, 2)):
                os.dup2(fd, number)
            os.close(nothing)
            self.init["raise_oom_score"]()
            self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            scratch, *paths = message.decode().split("\0")
            if self.config["forks"]:
                self.furnish(int(scratch))
            self.write_files(zip(paths, fds[4:]))
            if self.config["forks"]:
                self.confine()
            for fd in (stdout, stderr):
                os.close(fd)
        except BaseException as error:
            os.write(2, ("the interpreter could not be made ready: %s\n" % error).encode())
            os._exit(1)
        self.init["serve"](control, self.libc.prctl, confined=True, start=self.resume)

    def furnish(self, scratch):
        """Folders, processes and network as those of a sandbox of its own."""
        self.mount("none", "/", None, MS_REC | MS_PRIVATE)
        self.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        for folder, mode in (("/tmp", "1777"), ("/dev/shm", "1777"), ("/home/u", "0700")):  # noqa: S108
            self.mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=%s,size=%d" % (mode, scratch))
        self.mount("tmpfs", "/run/samehere", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
        self.mount(
            "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"
        )
        import fcntl

        any_socket = self.socket.socket(self.socket.AF_INET, self.socket.SOCK_DGRAM)
        fcntl.ioctl(
            any_socket.fileno(),
            SIOCSIFFLAGS,
            b"lo".ljust(16, b"\0") + IFF_UP_RUNNING.to_bytes(2, sys.byteorder) + bytes(14),
        )
        any_socket.close()

    def write_files(self, files):
        for path, source in files:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            while True:
                data = os.read(source, 1 << 18)
                if not data:
                    break
                while data:
                    data = data[os.write(fd, data) :]
            os.close(fd)
            os.close(source)
        if not self.config["forks"]:
            # The folder is no file system of its own that could be made read-only now.
            os.chmod("/run/samehere", 0o555)  # noqa: S103

    def confine(self):
        """No privilege, no way to one, and the filter of system calls: for this process and all that it starts."""
        remount = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
        self.mount("none", "/run/samehere", None, remount)
        prctl, ctypes = self.libc.prctl, self.ctypes
        number = 0
        while prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
            number += 1
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        header = CAPABILITY_VERSION.to_bytes(4, sys.byteorder) + bytes(4)
        self.check(self.libc.capset(header, bytes(24)), "capset")
        program = ctypes.create_string_buffer(self.filter, len(self.filter))

        class Program(ctypes.Structure):
            _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

        described = Program(len(self.filter) // 8, ctypes.addressof(program))
        self.check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0), "seccomp")

    def resume(self, control, config, prctl):
        """In the program's process: what init does before an exec, and what a fork has to undo."""
        kept = control.fileno()
        try:
            fields = config.split(b"\0")
            kept = self.init["clear_of"](control.detach(), int(fields[2]))
            _, variables = self.init["settle"](fields, (kept, *self.kept), prctl)
            self.set_variables({os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()})
            reseed()
            threads = sys.modules.get("threading")
            if threads is not None and hasattr(threads.main_thread(), "_set_native_id"):
                threads.main_thread()._set_native_id()
            hidden = self.hide()
            self.watcher.begin(self.watch["read_config"]())
            self.stretch_tripwire(hidden)
            os.close(kept)
        except BaseException as error:
            self.init["say_failed"](kept, error)
            os._exit(127)

    @staticmethod
    def set_variables(wanted):
        for name in [name for name in os.environ if name not in wanted]:
            del os.environ[name]
        for name, value in wanted.items():
            if os.environ.get(name) != value:
                os.environ[name] = value

    def hide(self):
        for name in list(sys.modules):
            if name in self.hidden or name not in self.known:
                del sys.modules[name]
        hidden = self.finder["Hidden"](dict(self.hidden), self.roots, self.config["modules"][-1])
        sys.meta_path.insert(0, hidden)
        return hidden

    def stretch_tripwire(self, hidden):
        """A change that would have come too late in this process, seen as it happens, ends the attempt: it is run again, cold."""
        channel, getframe, leave, write = self.watcher.channel, sys._getframe, os._exit, os.write
        read_at_start = tuple(self.config["read_at_start"])
        package = tuple(root + "torch" + os.sep for root in self.roots)
        imported = frozenset(name.partition(".")[0] for name in (*self.hidden, *self.known))

        def trip():
            try:
                # With nothing that the script could have changed.
                write(channel.fd, b'{"kind": "tripped"}\n')
            finally:
                leave(TRIPPED)

        hidden.trip = trip

        def by_torch():
            frame = getframe(2)
            while frame is not None and frame.f_code.co_filename.endswith(("/os.py", "<frozen os>")):
                frame = frame.f_back
            return frame is not None and frame.f_code.co_filename.startswith(package)

        def hook(event, arguments):
            if event in ("os.putenv", "os.unsetenv"):
                name = arguments[0]
                if os.fsdecode(name).startswith(read_at_start) and not by_torch():
                    trip()
            elif event in OBSERVERS and not by_torch():
                trip()
            elif event in PATH_MAKERS and leads_elsewhere(event, arguments, imported) and not by_torch():
                trip()

        sys.addaudithook(hook)


def main():
    config = read_config()
    if __name__ == "__main__":
        become_interpreter(config)
    try:
        pause = Pause(config)
    except BaseException as error:
        os.write(2, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace"))
        os._exit(1)
    pause.wait()


main()
