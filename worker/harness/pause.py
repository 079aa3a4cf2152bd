"""An interpreter that imports torch and pauses before the script; each job goes on in a fork of it.

It pauses in the toolchain's hook, inside the start-up of CPython. A fork only has to return from here:
CPython itself opens and runs the script, with the same frames, tracebacks and end as in a process of its own.
Whatever a fork inherits and a cold start would not have is undone first: seeds, modules that the script has
not imported yet, descriptors.

The file runs twice: first by its path, to execute the script's interpreter without anything of the node's,
and then by the hook. `worker/harness/__init__.py` describes its config. `worker.warm.zygote` is the node's
side of the socket:

    from here   "ready" | "trouble REASON" | "alone REASON" (no forks here: it may take one job), once
    to here     one message a job: bytes of scratch space and the paths of its files, separated by NUL; with
                descriptors of the job's control socket, stdout, stderr, report channel and files' contents
    from a job  on its control socket "init NUMBER", the descriptor of the report channel; with a pidfd of
                its pid 1
"""

import os
import sys

FOLDER = "/run/samehere/"
CONFIG_PATH = FOLDER + "harness.json"
MESSAGE_BYTES = 1 << 16
# More than the files of the harness, with room for those of a job. The kernel takes 253.
MOST_DESCRIPTORS = 128
SCM_RIGHTS = 1
PIDFD_OPEN = 434  # on every architecture
PR_SET_DUMPABLE = 4


def read_config():
    """The config that the node wrote, as a dict."""
    with open(CONFIG_PATH, encoding="utf-8") as file:
        # Importing json here would show in the script's sys.modules, and the node wrote the text.
        return eval(file.read(), {"__builtins__": {}, "true": True, "false": False, "null": None})  # noqa: S307


def load(name, as_name):
    """The globals of another file of the harness. An import would leave a module in sys.modules."""
    namespace = {"__name__": as_name}
    with open(FOLDER + name, "rb") as file:
        exec(compile(file.read(), FOLDER + name, "exec"), namespace)  # noqa: S102
    return namespace


def become_interpreter(config):
    """Execute the script's interpreter, with the signals, limits and variables of a cold start."""
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
    """Seed torch's and numpy's generators again: forks would share the seed.

    Python's own does so by itself.
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None:
        torch.default_generator.seed()
    if numpy is not None and "numpy.random" in sys.modules:
        numpy.random.seed(None)


def find_problem():
    """Why a fork of this process would differ from a fresh process, as text; "" if it would not."""
    # numpy's BLAS ends its threads before a fork, and a fork
    # starts its own. Threads of others would be missing there.
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        threads = next(int(line.split()[1]) for line in file if line.startswith("Threads:"))
    if threads > 1:
        return "%d threads after the import" % threads
    # A fork can use a driver that is loaded, but not one that is started.
    if any(
        os.path.realpath("/proc/self/fd/" + name).startswith("/dev/nvidia")
        for name in os.listdir("/proc/self/fd")
    ):
        return "a card is open after the import"
    return ""


class Pause:
    """The paused interpreter: imports what jobs need, then waits for jobs."""

    def __init__(self, config):
        self.config = config
        before = set(sys.modules)
        # `site` reads these files now and closes them later.
        self.open_fds = tuple(
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
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.socket = self.init["_socket"]
        with open(FOLDER + "filter", "rb") as file:
            program = file.read()
        # Loaded now: a job has another folder at this path.
        isolation = load("isolate.py", "samehere_harness")["Isolation"]
        self.isolation = isolation(ctypes, self.libc, self.socket, program)
        self.tripwire = load("tripwire.py", "samehere_harness")
        self.control = self.socket.socket(fileno=config["control_fd"])
        os.set_inheritable(config["control_fd"], False)

    @staticmethod
    def freeze():
        """Keep a fork's garbage collector from visiting, and so copying, the memory that all forks share."""
        import gc

        gc.collect()
        gc.freeze()
        # The script's objects in a frozen namespace would never be
        # collected: at the end, neither `__del__` nor `finally` would run.
        main = type(sys)("__main__")
        main.__dict__.clear()
        main.__dict__.update(vars(sys.modules["__main__"]))
        sys.modules["__main__"] = main

    def receive(self):
        """A message and its descriptors; the message is empty if the node closed the socket."""
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
        """Wait for jobs. Returns only in the process that becomes the script; the others never return."""
        trouble = find_problem()
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
        # The kernel then reaps children by itself.
        signals.signal(signals.SIGCHLD, signals.SIG_IGN)
        while True:
            message, fds = self.receive()
            if not message:
                os._exit(0)
            if os.fork() == 0:
                self.isolation.enter(fds[2])
                signals.signal(signals.SIGCHLD, signals.SIG_DFL)
                self.take(message, fds)
                return
            for fd in fds:
                os.close(fd)

    def rehearse(self):
        """Why this system does not let a fork have its own namespaces; "" if it does."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.isolation.enter(writing)
                self.isolation.furnish(1 << 20)
            except BaseException as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        message = b""
        while True:
            chunk = os.read(reading, 4096)
            if not chunk:
                break
            message += chunk
        os.close(reading)
        os.waitpid(pid, 0)
        self.reap_all()
        return message.decode(errors="replace")

    @staticmethod
    def reap_all():
        """Reap all children. This process is pid 1, so it also got the orphans of its child."""
        try:
            while True:
                os.wait()
        except OSError:
            return

    def take(self, message, fds):
        """As pid 1 of the job: set everything up, start the script and report its end.

        Returns in the script only.
        """
        control_fd, stdout, stderr, report = fds[:4]
        try:
            self.control.close()
            control = self.socket.socket(fileno=control_fd)
            pidfd = self.libc.syscall(PIDFD_OPEN, os.getpid(), 0)
            rights = [(self.socket.SOL_SOCKET, SCM_RIGHTS, pidfd.to_bytes(4, sys.byteorder))]
            control.sendmsg([b"init %d" % report], rights)
            os.close(pidfd)
            # Not the inherited descriptor: all processes that share an
            # open file share its flags and locks, the next job too.
            null = os.open("/dev/null", os.O_RDWR)
            for fd, number in ((null, 0), (stdout, 1), (stderr, 2)):
                os.dup2(fd, number)
            os.close(null)
            self.init["raise_oom_score"]()
            self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            scratch, *paths = message.decode().split("\0")
            if self.config["forks"]:
                self.isolation.furnish(int(scratch))
            self.write_files(zip(paths, fds[4:]))
            if self.config["forks"]:
                self.isolation.confine()
            for fd in (stdout, stderr):
                os.close(fd)
        except BaseException as error:
            os.write(2, ("the interpreter could not be made ready: %s\n" % error).encode())
            os._exit(1)
        self.init["serve"](control, self.libc.prctl, confined=True, start=self.resume)

    def write_files(self, files):
        """Copy the job's files into place.

        `files`: pairs of a path and a descriptor of the content, which it closes.
        """
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
            # The folder is no file system of its own, so it can't be remounted read-only.
            os.chmod("/run/samehere", 0o555)  # noqa: S103

    def resume(self, control, config, prctl):
        """Become the script: do what `init.start` does before an exec, and undo what a fork inherited."""
        control_fd = control.fileno()
        try:
            fields = config.split(b"\0")
            control_fd = self.init["move_away"](control.detach(), int(fields[2]))
            _, variables = self.init["apply_config"](fields, (control_fd, *self.open_fds), prctl)
            self.set_variables({os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()})
            reseed()
            threads = sys.modules.get("threading")
            if threads is not None and hasattr(threads.main_thread(), "_set_native_id"):
                threads.main_thread()._set_native_id()
            hidden = self.hide()
            self.watcher.begin(self.watch["read_config"]())
            self.stretch_tripwire(hidden)
            self.init["close_gate"](control_fd)
            os.close(control_fd)
        except BaseException as error:
            self.init["report_failure"](control_fd, error)
            os._exit(127)

    @staticmethod
    def set_variables(variables):
        """Make the environment variables exactly these, with as few changes as possible."""
        for name in [name for name in os.environ if name not in variables]:
            del os.environ[name]
        for name, value in variables.items():
            if os.environ.get(name) != value:
                os.environ[name] = value

    def hide(self):
        """Take the modules that the pause imported out of the script's sight. Returns their finder."""
        for name in list(sys.modules):
            if name in self.hidden or name not in self.known:
                del sys.modules[name]
        hidden = self.finder["Hidden"](dict(self.hidden), self.roots, self.config["modules"][-1])
        sys.meta_path.insert(0, hidden)
        return hidden

    def stretch_tripwire(self, hidden):
        """End the attempt if the script does something that this start is too late for."""
        imported = frozenset(name.partition(".")[0] for name in (*self.hidden, *self.known))
        hidden.trip = self.tripwire["make_trip"](self.watcher.channel)
        read_at_start = tuple(self.config["read_at_start"])
        self.tripwire["stretch"](
            hidden.trip, roots=self.roots, read_at_start=read_at_start, imported=imported
        )


def main():
    """Become the interpreter, or pause in it.

    Ends the process with a message on stderr if the pause fails.
    """
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
