"""The harness: watches a script from its own process, and reports flags, devices, the exception and values.

It applies the target's settings after `import torch`, and lets each process of the script print its stacks on
a signal. The script must not notice it: no wrapper is on the stack while the script or torch run,
`sys.excepthook` stays as it is, and modules beyond `sys` and `os` are imported after the script has ended.
`worker/harness/__init__.py` describes the config and the lines of the report.
"""

import os
import sys

CONFIG_PATH = "/run/samehere/harness.json"
SCRIPT_PATHS = ("/home/u/script.py", "/run/samehere/probe.py")
# Far from the script's own descriptors, which start at 3 as without the harness.
HIGH_FD = 900
# Makes a process print its stacks. Libraries use other signals. `worker.sandbox` sends the same number.
STACKS_SIGNAL = 61
MOST_ANCESTORS = 16
FOLDER = "/run/samehere/"
MAX_MESSAGE = 8192


def read_config():
    """The config that the node wrote, as a dict."""
    with open(CONFIG_PATH, encoding="utf-8") as file:
        text = file.read()
    # Importing json here would show in the script's sys.modules, and the node wrote the text.
    return eval(text, {"__builtins__": {}, "true": True, "false": False, "null": None})  # noqa: S307


class Channel:
    """The report channel. Only the script's main process has one; elsewhere `fd` is -1.

    `sent`: bytes that were written so far.
    """

    def __init__(self, number):
        self.pid = os.getpid()
        self.sent = 0
        self.fd = -1
        self.identity = None
        if isinstance(number, int) and is_main_process() and is_pipe(number):
            os.dup2(number, HIGH_FD, inheritable=False)
            os.close(number)
            self.fd = HIGH_FD
            self.identity = identity_of(HIGH_FD)

    def is_ours(self):
        """Whether this process may write to it. A fork must not, nor a script that put another file there."""
        return self.fd >= 0 and os.getpid() == self.pid and identity_of(self.fd) == self.identity

    def send(self, message):
        """Write one message, a dict, as a line of JSON."""
        import json

        line = json.dumps(message, allow_nan=False).encode("ascii") + b"\n"
        self.sent += len(line)
        while line:
            line = line[os.write(self.fd, line) :]


def is_main_process():
    """Whether this process runs the script itself, and not a worker that it spawned."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().split(b"\0")
    return len(words) > 1 and words[1].decode("utf-8", "replace") in SCRIPT_PATHS


def is_pipe(fd):
    """Whether the descriptor is open and is a pipe or a socket."""
    status = attempt(os.fstat, fd)
    mode = 0 if status is None else status.st_mode
    return os.path.stat.S_ISFIFO(mode) or os.path.stat.S_ISSOCK(mode)


def identity_of(fd):
    """Tells one open file from another that has the same number. Raises OSError if it is not open."""
    status = os.fstat(fd)
    return (status.st_dev, status.st_ino)


def answer_with_stacks(fd):
    """Have a signal make this process write the stacks of its threads to the report channel.

    Forks inherit this; a program that they execute does not. The handler is in C: it runs even if the
    interpreter is stuck, and `signal.getsignal` does not show it.
    """
    if fd < 0:
        fd = channel_of_an_ancestor()
    known = "faulthandler" in sys.modules
    import faulthandler

    if not known:
        del sys.modules["faulthandler"]
    if fd >= 0:
        faulthandler.register(STACKS_SIGNAL, file=fd, all_threads=True, chain=False)


def channel_of_an_ancestor():
    """Open a parent process's report channel, for a program that was executed; -1 if there is none."""
    pid = os.getppid()
    for _ in range(MOST_ANCESTORS):
        if pid <= 1:
            break
        path = "/proc/%d/fd/%d" % (pid, HIGH_FD)
        if os.path.exists(path) and os.path.stat.S_ISFIFO(os.stat(path).st_mode):
            low = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(low, True)
            os.dup2(low, HIGH_FD, inheritable=False)
            os.close(low)
            return HIGH_FD
        with open("/proc/%d/stat" % pid, "rb") as file:
            pid = int(file.read().rpartition(b")")[2].split()[1])
    return -1


def holds_values():
    """Whether the script may hold values to capture. Loading the capture takes longer than a small script."""
    if "torch" in sys.modules or "numpy" in sys.modules:
        return True
    return any(
        type(value) in (bool, int, float, complex) and not name.startswith("_")
        for name, value in vars(sys.modules["__main__"]).items()
    )


def load_values():
    """The globals of `values.py`. An import would show in the script's sys.modules."""
    module = type(sys)("samehere_elements")
    run(FOLDER + "elements.py", vars(module))
    names = {"__name__": "samehere_values", "elements": module}
    run(FOLDER + "values.py", names)
    return names


def start(name, *arguments):
    """Load a file and call its `start`. Returns its globals, with the result as `running`."""
    names = {"__name__": "samehere_" + name}
    run(FOLDER + name + ".py", names)
    names["running"] = names["start"](*arguments)
    return names


def run(path, names):
    """Execute a file with these globals."""
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)  # noqa: S102


def attempt(function, *arguments):
    """The function's result, or None if it fails, as it does where this version of torch lacks something."""
    try:
        return function(*arguments)
    except Exception:
        return None


def precision_flags(torch):
    """The state of TF32, value by name, without causing torch's warning, which appears once a process."""
    flags = {}
    get = getattr(torch._C, "_get_fp32_precision_getter", None)
    if get is not None:
        for name in ("cuda.matmul", "cuda.conv", "cuda.rnn", "mkldnn.matmul", "mkldnn.conv"):
            flags["precision." + name] = attempt(get, *name.split("."))
        return flags
    flags["tf32.matmul"] = attempt(lambda: torch._C._get_cublas_allow_tf32())
    flags["tf32.cudnn"] = attempt(lambda: torch._C._get_cudnn_allow_tf32())
    flags["float32_matmul_precision"] = attempt(lambda: torch._C._get_float32_matmul_precision())
    return flags


def numeric_flags(torch):
    """The flags of torch that change numeric results, value by name; those that it lacks are absent."""
    native = torch._C
    deterministic = sys.modules.get("torch.utils.deterministic")
    flags = {
        "deterministic": attempt(lambda: native._get_deterministic_algorithms()),
        "deterministic.warn_only": attempt(lambda: native._get_deterministic_algorithms_warn_only()),
        "deterministic.fill": attempt(lambda: native._get_deterministic_fill_uninitialized_memory()),
        "default_dtype": attempt(lambda: str(torch.get_default_dtype())),
        "threads": attempt(lambda: torch.get_num_threads()),
        "threads.interop": attempt(lambda: torch.get_num_interop_threads()),
        "cudnn.enabled": attempt(lambda: native._get_cudnn_enabled()),
        "cudnn.benchmark": attempt(lambda: native._get_cudnn_benchmark()),
        "cudnn.deterministic": attempt(lambda: native._get_cudnn_deterministic()),
        "mkldnn.enabled": attempt(lambda: native._get_mkldnn_enabled()),
        "matmul.fp16_reduction": attempt(
            lambda: str(native._get_cublas_allow_fp16_reduced_precision_reduction())
        ),
        "matmul.bf16_reduction": attempt(
            lambda: str(native._get_cublas_allow_bf16_reduced_precision_reduction())
        ),
        "grad": attempt(lambda: torch.is_grad_enabled()),
        "anomaly": attempt(lambda: torch.is_anomaly_enabled()),
        "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    }
    if flags["deterministic.fill"] is None and deterministic is not None:
        flags["deterministic.fill"] = attempt(lambda: deterministic.fill_uninitialized_memory)
    flags.update(precision_flags(torch))
    return {name: value for name, value in flags.items() if value is not None}


def devices_used(torch):
    """The cards on which this process ever held memory, as "cuda:0"; ["cpu"] if there are none."""
    used = []
    if torch is not None and attempt(lambda: torch.cuda.is_initialized()):
        for index in range(attempt(lambda: torch.cuda.device_count()) or 0):
            statistics = attempt(lambda: torch.cuda.memory_stats(index)) or {}  # noqa: B023
            if statistics.get("allocated_bytes.all.allocated", 0) > 0:
                used.append("cuda:%d" % index)
    return used or ["cpu"]


def apply_settings(torch, settings):
    """Apply the target's settings, as if the script did so in the line after `import torch`.

    `settings` is text by name, as in the config. Raises if torch lacks something.
    """
    if "deterministic" in settings or "fill" in settings:
        strict = "deterministic" in settings
        # The public function would import torch._inductor, which takes a second. The node sets an environment
        # variable for what it would set there.
        torch._C._set_deterministic_algorithms(True, warn_only=not strict)
        # Filling hides reads of uninitialised memory behind a stable NaN: only if the target asks for it.
        torch.utils.deterministic.fill_uninitialized_memory = settings.get("fill") == "nan"
    if "tf32" in settings:
        allowed = settings["tf32"] == "on"
        torch._C._set_cublas_allow_tf32(allowed)
        torch._C._set_cudnn_allow_tf32(allowed)


def describe_exception(kind, value):
    """The `exception` line of the report, with the type's name as in a traceback's last line.

    It has no message if the script's own code would have to compose it.
    """
    module = getattr(kind, "__module__", None)
    name = getattr(kind, "__qualname__", "")
    if isinstance(module, str) and module not in ("builtins", "__main__"):
        name = module + "." + name
    composes = type(getattr(kind, "__str__", None)) is type(attempt)
    message = None if composes else attempt(str, value)
    facts = {"kind": "exception", "type": name[:200]}
    if message is not None:
        facts["message"] = message[:MAX_MESSAGE]
    return facts


def call_after_import(module_name, action):
    """Call `action` after the first import of a module.

    No frame of ours is on the stack during the import: its failure has the same traceback as without the
    harness.
    """
    specification = type(sys.__spec__)

    class Spec(specification):
        # The import system sets `_initializing` to False after it executed a module, even if that failed.
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if name == "_initializing" and not value:
                object.__setattr__(self, "__class__", specification)
                sys.meta_path[:] = [other for other in sys.meta_path if other is not Finder]
                action()

    # A script that looks for the module before it imports it must see an ordinary spec.
    for attribute in ("__name__", "__qualname__", "__module__"):
        setattr(Spec, attribute, getattr(specification, attribute))

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != module_name:
                return None
            for finder in list(sys.meta_path):
                if finder is Finder or not hasattr(finder, "find_spec"):
                    continue
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    if type(spec) is specification:
                        spec.__class__ = Spec
                    return spec
            return None

    sys.meta_path.insert(0, Finder)


class Watch:
    """Applies the settings and writes the report, at `import torch` and at the end of the process."""

    def __init__(self):
        self.settings = {}
        self.report_bytes = 0
        self.at_import = self.values = self.printed = self.channel = self.trace = self.passage = None
        self.warned = self.fix = self.layer = None
        self.registered = False

    def register(self):
        """Have `at_exit` called after all other exit handlers: the first one that is registered runs last."""
        known = "atexit" in sys.modules
        import atexit

        atexit.register(self.at_exit)
        self.registered = True
        # Up to Python 3.9 the module itself holds the handlers: another import of it would lose them.
        if not known and sys.version_info >= (3, 10):
            del sys.modules["atexit"]

    def begin(self, config, channel=None):
        """Start with this config, a dict. A caller that brings its own channel gets no stacks on a signal."""
        # As on a terminal: nothing that was printed is lost in a crash or at the time limit.
        attempt(lambda: sys.stdout.reconfigure(line_buffering=True))
        self.settings = config.get("settings") or {}
        self.report_bytes = config.get("report_bytes") or 0
        call_after_import("torch", self.after_import)
        self.channel = channel or Channel(config.get("report_fd"))
        if self.channel.fd >= 0 and not self.registered:
            self.register()
        if channel is None:
            attempt(answer_with_stacks, self.channel.fd)
        if self.channel.fd >= 0:
            self.warned = attempt(start, "warning_notes", call_after_import)
        if "fix" in self.settings or "seed" in self.settings:
            self.fix = attempt(start, "fix", self.settings, call_after_import)
        if config.get("passage"):
            self.passage = attempt(start, "passage", config["passage"])

    def after_import(self):
        """Apply the settings and send the `torch` line, right after `import torch`."""
        torch = sys.modules.get("torch")
        if torch is None:
            return
        if self.passage is not None:
            attempt(self.passage["skip_compiling"], self.passage["running"], torch)
        try:
            apply_settings(torch, self.settings)
            if self.fix is not None:
                self.fix["after_torch"](self.fix["running"], torch)
            if "compile" in self.settings:
                self.layer = start("compile_layer", self.settings["compile"], torch)
            if self.channel.is_ours():
                self.at_import = numeric_flags(torch)
                self.channel.send({"kind": "torch", "flags": self.at_import})
                self.watch_printing()
                if "trace" in self.settings:
                    self.trace = start("trace", self.printed)
        except Exception:
            return

    def watch_printing(self):
        """Capture tensors that the script formats from now on."""
        if self.report_bytes:
            self.values = load_values()
            printed = self.values["PrintedTensors"]()
            printed.watch()
            self.printed = printed

    def send_values(self, exception):
        """Send the captured values. This comes last, so that a failure here loses nothing else."""
        values = self.values or load_values()
        bytes_left = max(0, self.report_bytes - self.channel.sent)
        for message in values["messages"](self.printed, exception.get("message"), bytes_left):
            if self.channel.sent > self.report_bytes:
                return
            self.channel.send(message)

    def at_exit(self):
        """Send the lines that are due at the end of the process."""
        try:
            if self.channel is None or not self.channel.is_ours():
                return
            if self.passage is not None:
                self.channel.send(self.passage["message"](self.passage["running"]))
            # The interpreter stores an uncaught exception here before it prints it, so no hook is needed.
            kind = getattr(sys, "last_type", None)
            exception = {} if kind is None else describe_exception(kind, getattr(sys, "last_value", None))
            if exception:
                self.channel.send(exception)
            torch = sys.modules.get("torch")
            flags = (attempt(numeric_flags, torch) if self.at_import is not None else None) or {}
            if self.layer is not None:
                flags["compile.graphs"] = self.layer["graphs"]()
            self.channel.send({"kind": "end", "flags": flags, "devices": devices_used(torch)})
            for message in self.warned["messages"](self.warned["running"]) if self.warned else ():
                self.channel.send(message)
            if self.trace is not None:
                self.trace["running"].stop()
                self.channel.send(self.trace["message"](self.trace["running"]))
            if self.report_bytes and holds_values():
                self.send_values(exception)
        except Exception:
            return


# Python executes the start-up files of a virtual environment twice: the second time, the finder is already
# there. A paused interpreter uses another name here and calls `begin` itself.
if __name__ == "samehere_harness" and not any(
    getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path
):
    Watch().begin(read_config())
