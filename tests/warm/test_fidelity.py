"""A script can't distinguish a warm start from a cold one, except by the listed differences."""

from __future__ import annotations

import json

import pytest
from warm_jobs import Both

from worker.observation.harness_report import read_report

# Each script prints, raises or dies. Two cold runs of it never differ.
ENDINGS = {
    "exit status": "import torch\nraise SystemExit(7)",
    "hard exit": "import os, torch\nprint('x', flush=True)\nos._exit(139)",
    "segfault": "import torch, os, signal\nprint('before', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)",
    "abort": "import torch, os\nos.abort()",
    "exit text": "import sys, torch\nsys.exit('no good')",
    "interrupt": "import torch, os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n",
    "warning": "import warnings, torch\nwarnings.warn('careful')\ntorch.tensor(torch.ones(2))\n",
    "syntax warning": "x = 1\nprint(x is 1)\nimport torch\n",
    "stack": "import traceback, torch\ndef f():\n    traceback.print_stack()\nf()\n",
    "raises": "import torch\ndef f():\n    return torch.ones(2) @ torch.ones(3)\n\nf()\n",
    "raises without torch": "def f(x):\n    return 1 / x\n\nf(0)\n",
    "chained": (
        "import torch\ntry:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('two\\nlines') from e\n"
    ),
    "recursion": "import torch\ndef f():\n    return f()\n\nf()\n",
    "recursion over torch": (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return self(x)\nM()(1)\n"
    ),
    "syntax": "import torch\nif True\n    pass\n",
    "no submodule": "import torch.nothing_here",
    "no module": "import torch, torch_that_is_not_there",
    "no name": "from torch import nothing_here",
    "thread": (
        "import threading, torch\nt = threading.Thread(target=lambda: 1/0, name='t')\n"
        "t.start(); t.join()\nprint('after')"
    ),
    "at exit": "import atexit, torch\natexit.register(lambda: print('bye'))\nraise RuntimeError('x')",
    "unraisable": (
        "import torch\nclass F:\n    __repr__ = lambda s: ''\n"
        "    __call__ = lambda s, a: 1/0\nclass A: __del__ = F()\nA()\n"
    ),
    "left to the end": (
        "import torch\nclass A:\n    def __del__(self): print('bye', torch is None)\n"
        "a = A()\n_b = A()\na.itself = a\n"
    ),
    "open generator": (
        "import torch\ndef g():\n    try:\n        yield\n    finally:\n"
        "        print('closed')\nx = g()\nnext(x)\n"
    ),
    "input": "import torch\nprint(input())",
    "descriptor": "import torch\nf = open('/tmp/x', 'w')\nprint(f.fileno())",
    "own hook": "import sys, torch\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\n1/0\n",
    "bytes": "import sys, torch\nsys.stdout.buffer.write(bytes(range(256)))",
    "buffered": "import os, torch\nprint('kept back')\nos.write(1, b'first\\n')\n",
    "native": (
        "import torch\nprint(torch.__config__.parallel_info().splitlines()[0], torch.get_num_threads())"
    ),
    "a child": (
        "import os, torch\nif os.fork() == 0:\n    print('child', flush=True)\n"
        "    os._exit(3)\nprint(os.wait()[1] >> 8)"
    ),
    "another Python": (
        "import subprocess, sys, torch\n"
        "print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True))"
    ),
}


@pytest.mark.parametrize("script", ENDINGS.values(), ids=ENDINGS.keys())
def test_ends_the_same(both: Both, script: str) -> None:
    cold, warm = both.cold(script), both.warm(script)
    assert warm.stderr.head.decode(errors="replace") == cold.stderr.head.decode(errors="replace")
    for one in ("ending", "exit_status", "signal", "stdout", "stderr", "report"):
        assert getattr(warm, one) == getattr(cold, one), one


LOOK = r"""
import sys
early = sorted(sys.modules), [type(f).__name__ for f in sys.meta_path], dict(globals())
import atexit, gc, json, locale, os, resource, signal, socket, threading, warnings
seen = {}
folder = "/proc/self/fd/"
seen["descriptors"] = sorted(int(fd) for fd in os.listdir(folder) if os.path.exists(folder + fd))
own = (*sys.stdlib_module_names, "__mp_main__")
seen["third-party modules before"] = [name for name in early[0] if name.partition(".")[0] not in own]
seen["finders before"] = early[1]
seen["globals"] = sorted(early[2])
seen["main"] = [__name__, __file__, type(__loader__).__name__, __spec__,
    __cached__ if "__cached__" in globals() else None, __package__]
seen["sys"] = [sys.argv, sys.orig_argv, sys.path, str(sys.flags), sys.executable, sys.prefix,
    sys.base_prefix, sys._base_executable]
seen["more sys"] = [sys.warnoptions, sys._xoptions, sys.getrecursionlimit(), sys.getswitchinterval(),
    sys.dont_write_bytecode,
    sys.getfilesystemencoding(), sys.gettrace(), sys.getprofile(), hasattr(sys,
        "last_type"), sys.exc_info()[0]]
depth, frame = 0, sys._getframe()
while frame: depth, frame = depth + 1, frame.f_back
seen["depth"] = depth
seen["streams"] = [[s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.fileno(),
    s.name, s.mode, s.newlines]
    for s in (sys.stdin, sys.stdout, sys.stderr)]
seen["environment"] = [name for name in os.environ]
seen["environment's values"] = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
seen["its block"] = [w.split("=")[0] for w in open("/proc/self/environ").read().split("\0") if w]
seen["words"] = open("/proc/self/cmdline").read(), open("/proc/self/comm").read()
seen["process"] = [os.getpid(), os.getppid(), os.getsid(0), os.getpgrp(), os.getuid(), os.geteuid(),
    os.getgid(), os.getgroups(),
    os.getcwd(), os.umask(0o22), os.nice(0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))]
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
# The C library catches one of its own from a process's first thread on.
status["SigCgt"] = hex(int(status["SigCgt"], 16) & ~(0b11 << 31))
seen["status"] = {k: status[k] for k in ("Name", "Umask", "Uid", "Gid", "SigBlk", "SigIgn", "SigCgt",
    "CapInh", "CapPrm", "CapEff",
    "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "NSpid", "TracerPid", "Cpus_allowed_list")}
seen["limits"] = {name: resource.getrlimit(getattr(resource,
    name)) for name in dir(resource) if name.startswith("RLIMIT_")}
seen["signals"] = [str(signal.getsignal(s)) for s in (2, 13, 15, 17, 25)]
seen["gc"] = [gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks]
seen["threads"] = [threading.active_count(), threading.main_thread().native_id == os.getpid(),
    threading.current_thread().name]
seen["locale"] = locale.setlocale(locale.LC_ALL), locale.getpreferredencoding()
seen["network"] = [socket.if_nameindex(), socket.gethostname(), open("/proc/net/dev").read().count(":")]
seen["processes"] = sorted(name for name in os.listdir("/proc") if name.isdigit())
seen["folders"] = {f: [sorted(os.listdir(f)), oct(os.stat(f).st_mode), os.stat(f).st_uid] for f in
    ("/home/u", "/tmp", "/dev/shm", "/run/samehere", "/", "/etc", "/dev")}
seen["files"] = {f: [open(f).read()[:200], oct(os.stat(f).st_mode)] for f in
    ("/home/u/script.py", "/run/samehere/harness.py", "/run/samehere/harness.json")}
mounts = [line.split() for line in open("/proc/self/mounts")]
seen["scratch"] = sorted({(m[1], m[2], m[3]) for m in mounts if m[1] in ("/tmp", "/dev/shm", "/home/u",
    "/proc", "/dev/pts")})
seen["space"] = [os.statvfs(f).f_blocks for f in ("/tmp", "/dev/shm", "/home/u")]
seen["filters"] = [str(f) for f in warnings.filters]
seen["exit calls before"] = atexit._ncallbacks()
import torch, numpy
seen["after"] = [sorted(set(sys.modules) - set(sys.stdlib_module_names)),
    [type(f).__name__ for f in sys.meta_path]]
seen["order"] = [name for name in sys.modules if name.partition(".")[0] in ("torch", "numpy")]
seen["filters after"] = [str(f) for f in warnings.filters]
seen["exit calls"] = atexit._ncallbacks()
seen["spec"] = [type(torch.__spec__).__name__, type(torch.__spec__.loader).__name__,
    torch.__spec__._initializing,
    torch.__file__, torch.__loader__ is torch.__spec__.loader,
    type(numpy.__spec__).__name__, type(numpy.__loader__).__name__, numpy.__spec__.cached == numpy.__cached__]
seen["torch"] = [torch.get_num_threads(), torch.get_num_interop_threads(), str(torch.get_default_dtype()),
    torch.backends.cpu.get_cpu_capability(), torch.__config__.parallel_info(), torch.is_grad_enabled(),
    torch.are_deterministic_algorithms_enabled(), torch.cuda.is_available(),
    torch.backends.mkldnn.is_available(), str(torch._dynamo.config.recompile_limit)]
import logging
seen["logging"] = sorted((name,
    str(logging.getLogger(name).level)) for name in logging.root.manager.loggerDict)
seen["alternate"] = [torch.nn.Module is sys.modules["torch.nn"].Module, json is sys.modules["json"]]
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def looks(both: Both) -> tuple[dict[str, object], dict[str, object]]:
    cold, warm = both.output_of(LOOK)
    return json.loads(cold), json.loads(warm)


# These differ before the script's own import of torch. A script that reads them starts cold.
KNOWN_BEFORE_TORCH = {"finders before", "filters", "exit calls before"}


def test_looks_the_same(looks: tuple[dict[str, object], dict[str, object]]) -> None:
    cold, warm = looks
    differ = {name: (cold[name], warm[name]) for name in cold if cold[name] != warm[name]}
    assert differ.keys() == KNOWN_BEFORE_TORCH, {
        name: differ[name] for name in differ.keys() - KNOWN_BEFORE_TORCH
    }
    # A cold start has a finder for torch and one for `warnings`; a paused interpreter hides the second.
    finders: tuple[list[str], list[str]] = differ["finders before"]  # type: ignore[assignment]
    assert finders[0][:2] == ["type", "type"]
    assert finders[1] == ["type", "Hidden", *finders[0][2:]]
    assert len(cold) > 35


NUMBERS = r"""
import hashlib, json, torch, numpy as np
torch.manual_seed(0); np.random.seed(0)
seen = {}
def put(name, value):
    value = value.detach().contiguous().view(torch.uint8).numpy() if isinstance(value,
        torch.Tensor) else np.ascontiguousarray(value)
    seen[name] = hashlib.sha256(value.tobytes()).hexdigest()
a, b = torch.randn(200, 200), torch.randn(200, 200)
put("random", torch.rand(1000)); put("f32", a @ b); put("f64", a.double() @ b.double())
put("bf16", a.bfloat16() @ b.bfloat16())
put("int8", torch._int_mm(torch.randint(-9, 9, (64, 64), dtype=torch.int8), torch.randint(-9, 9, (64, 64),
    dtype=torch.int8)))
put("sum", a.exp().sum().reshape(1)); put("mean", a.mean(0)); put("std", a.std(1))
put("logsumexp", a.logsumexp(0))
put("conv", torch.nn.functional.conv2d(a[None, None], torch.randn(4, 1, 3, 3)))
put("svd", torch.linalg.svd(a)[1])
put("inv", torch.linalg.inv(a)); put("fft", torch.view_as_real(torch.fft.fft(a)))
model = torch.nn.Sequential(torch.nn.Linear(200, 32), torch.nn.Dropout(), torch.nn.ReLU(),
    torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    optimizer.zero_grad(); model(a).square().mean().backward(); optimizer.step()
put("adam", model[0].weight); put("lstm", torch.nn.LSTM(200, 16)(a)[0])
q = torch.randn(2, 4, 32, 16); put("attention", torch.nn.functional.scaled_dot_product_attention(q, q, q))
put("sort", a.flatten().sort()[1]); put("multinomial", torch.multinomial(a.abs(), 5))
put("numpy's dot", np.random.rand(99, 99) @ np.random.rand(99, 99))
put("numpy's svd", np.linalg.svd(np.random.rand(50, 50))[1])
print(json.dumps(seen))
"""


def test_numbers_are_the_same_bit_for_bit(both: Both) -> None:
    cold, warm = both.output_of(NUMBERS)
    assert json.loads(cold) == json.loads(warm)
    assert len(json.loads(cold)) > 18
    assert both.warm(NUMBERS).stdout.head.decode() == warm


DRAWS = """
import json, os, random, tempfile, uuid
import numpy, torch
print(json.dumps([torch.initial_seed(), torch.rand(1).item(), numpy.random.rand(), random.random(),
    str(uuid.uuid4()), tempfile.mktemp(),
    numpy.random.default_rng().random(), os.urandom(4).hex(), torch.Generator().seed()]))
"""


def test_no_two_warm_starts_draw_the_same(both: Both) -> None:
    draws = [json.loads(both.warm(DRAWS).stdout.head) for _ in range(3)]
    for values in zip(*draws, strict=True):
        assert len(set(map(str, values))) == 3, values


def test_the_hash_seed_is_shared_and_recorded(both: Both) -> None:
    script = "import os, torch\nprint(os.environ['PYTHONHASHSEED'], hash('a'), list({'a', 'b', 'c', 'd'}))"
    first, second = both.warm(script).stdout.head, both.warm(script).stdout.head
    assert first == second == both.cold(script, hash_seed=first.split()[0].decode()).stdout.head


SETTINGS = """
import random
random.seed(1)
before = random.random()
from torch.nn import Linear
import torch
print(before, random.random(), torch.rand(1).item(), torch.are_deterministic_algorithms_enabled(),
    torch.backends.cuda.matmul.allow_tf32)
"""


def test_settings_apply_at_the_script_s_own_import(both: Both) -> None:
    cold, warm = both.output_of(SETTINGS, settings='{"seed": "5", "tf32": "on", "deterministic": "on"}')
    assert cold == warm
    assert cold.endswith(" True True\n")


def test_a_module_of_the_script_s_own_comes_first(both: Both) -> None:
    script = (
        "open('torch.py', 'w').write('x = 5')\nimport importlib; "
        "importlib.invalidate_caches()\nimport torch\nprint(torch.x)\n"
    )
    assert both.cold(script).stdout.head == b"5\n"
    assert b"tripped" in both.warm(script).report


LOADER = """
import torch
from torch.utils.data import DataLoader
print([batch.tolist() for batch in DataLoader(range(8), batch_size=3, num_workers=2)])
"""
FORK = """
import torch, torch.multiprocessing as mp
def work(queue): queue.put((torch.ones(2) @ torch.ones(2)).item())
context = mp.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=work, args=(queue,))
process.start(); print(queue.get()); process.join()
"""
SPAWN = """
import torch, torch.multiprocessing as mp
def work(number): print(number, torch.ones(1).item(), flush=True)
if __name__ == "__main__": mp.spawn(work, nprocs=1)
"""
GROUP = """
import os, torch, torch.distributed as d
os.environ["MASTER_ADDR"] = "127.0.0.1"; os.environ["MASTER_PORT"] = "29511"
d.init_process_group("gloo", rank=0, world_size=1); t = torch.ones(2); d.all_reduce(t); print(t)
d.destroy_process_group()
"""
PARALLEL = """
import threading, torch
torch.manual_seed(0)
x, found = torch.randn(500, 500), []
print((x @ x).sum().item(), x.exp().sum().item(), torch.get_num_threads())
threads = [threading.Thread(target=lambda: found.append((x @ x).sum().item())) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]; print(found)
"""
OTHERS = """
import io, torch
@torch.jit.script
def f(x: int): return x + 1
print(f(1), torch.compile(lambda x: (x.sin() + 1).sum(), backend="eager")(torch.ones(3)))
b = io.BytesIO(); torch.save({"a": torch.ones(2)}, b); b.seek(0); print(torch.load(b))
"""
WORKS = {
    "loader": LOADER,
    "fork": FORK,
    "spawn": SPAWN,
    "group": GROUP,
    "parallel": PARALLEL,
    "others": OTHERS,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", WORKS.values(), ids=WORKS.keys())
def test_works_the_same(both: Both, script: str) -> None:
    cold, warm = both.output_of(script)
    assert cold == warm
    assert cold


def test_the_same_warnings_are_noted(both: Both) -> None:
    script = "import torch, warnings\nwarnings.warn('old', FutureWarning)\nprint(torch.ones(1))\n"
    cold, warm = (read_report(result.report).warnings for result in (both.cold(script), both.warm(script)))
    assert cold == warm
    assert [each.text for each in warm or []] == ["old"]
