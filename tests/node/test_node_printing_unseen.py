"""That values are captured shows in nothing that a script can print, count or trace."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.contract import Result
from worker.toolchains import ToolchainStore
from worker.toolchains.store import INSIDE

Execute = Callable[..., Result]

pytestmark = pytest.mark.sandbox

SCRIPTS = {
    "prints": "import torch\nx = torch.arange(6.).reshape(2, 3)\nprint(x, [x], f'{x} {x[0, 0]} {x[0, 0]:.2f}', repr(x), str(x.t()))\n"  # noqa: E501
    "print(open('/dev/null').fileno())\n",
    "a tensor that can't be shown": "import torch\nx = torch.ones(3)\nx.untyped_storage().resize_(0)\nprint(torch.empty(2, 2).to('meta'))\n"  # noqa: E501
    "torch._tensor_str.PRINT_OPTS = None\nprint(torch.ones(2))\n",
    "a format that is refused": "import torch\nprint(f'{torch.ones(2):.2f}')\n",
    "a subclass whose repr fails": "import torch\nclass Mine(torch.Tensor):\n    def __repr__(self):\n"
    "        return super().__repr__() + 1\nprint(torch.ones(2).as_subclass(Mine))\n",
    "a mode that counts": """import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        print(getattr(function, '__name__', function)); return function(*args, **(kwargs or {}))
class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        print(function); return function(*args, **(kwargs or {}))
x = torch.ones(2)
with Functions(), Dispatch():
    print(x)
left_on = Functions(); left_on.__enter__()
y = x * 2
""",
    # One process, since each of them imports half of torch.
    "transforms": """import torch
from torch._subclasses import FakeTensorMode
def f(x):
    print(x)
    return (x ** 2).sum()
print(torch.func.vmap(f)(torch.ones(2, 2)))
print(torch.func.grad(f)(torch.ones(2)))
def g(x):
    print(x)
    return x * x.shape[0]
print(torch.jit.trace(g, torch.ones(3)).graph)
class M(torch.nn.Module):
    def forward(self, x):
        return x + 1
print(torch.export.export(M(), (torch.ones(2),)).graph)
with FakeTensorMode():
    x = torch.ones(2)
    print(x)
""",
    "random numbers go on": "import torch, numpy, random\ntorch.manual_seed(0); numpy.random.seed(0); random.seed(0)\n"  # noqa: E501
    "x = torch.rand(3)\nprint(x)\nprint(torch.rand(3), numpy.random.rand(), random.random(), torch.initial_seed())\n",  # noqa: E501
    "inference, and a default device": "import torch\nwith torch.inference_mode():\n    x = torch.ones(2)\n    print(x, x.is_inference())\n"  # noqa: E501
    "w = torch.ones(2, requires_grad=True)\nprint(w, (w * 2), (w * 2).grad_fn is not None, x)\n"
    "torch.set_default_device('meta')\nx = torch.ones(2)\nprint(x, torch.tensor([1.], device='cpu'))\n",
    "the module's function replaced": "import torch\nfrom unittest import mock\nprint(torch._tensor_str._str(torch.ones(1)))\n"  # noqa: E501
    "with mock.patch('torch._tensor_str._str', lambda *a, **k: 'mine'):\n    print(torch.ones(1))\n"
    "print(torch.ones(1))\ntorch._tensor_str._str = lambda *a, **k: 'other'\nprint(torch.ones(1))\n"
    "del torch._tensor_str._str\nprint(torch.ones(1))\n",
    "recursion": "import torch\nx = torch.ones(1)\ndef f():\n    f()\ntry:\n    f()\nexcept RecursionError:\n    print(x)\n",  # noqa: E501
    "compiled": "import torch\n@torch.compile(backend='eager')\ndef f(x):\n    y = x + 1\n    print(y, f'{y}')\n    return y * 2\n"  # noqa: E501
    "print(f(torch.ones(2)), dict(torch._dynamo.utils.counters))\n",
    "nothing is held on to": "import sys, torch, weakref\nfor n in (3, 10**6):\n    x = torch.ones(n)\n    str(x)\n"  # noqa: E501
    "    print(sys.getrefcount(x))\n    seen = weakref.ref(x)\n    del x\n    print(seen())\n",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\nimport numpy, torch\nnumpy.seterr(all='raise')\n"  # noqa: E501
    "x = torch.tensor([float('nan'), 1e300], dtype=torch.float64)\nprint(x)\nn = x.numpy()\n",
    "deterministic": "import torch\ntorch.use_deterministic_algorithms(True)\nx = torch.rand(100).sort().values\nprint(x.shape)\n",  # noqa: E501
}
# Those of which the tensors are captured while nothing shows.
SEEN = {
    "prints",
    "a mode that counts",
    "compiled",
    "inference, and a default device",
    "recursion",
    "nothing is held on to",
    "warnings are errors",
}

LOOK_AROUND = """
import inspect, json, pickle, signal, sys, threading, types
import torch
module = torch._tensor_str
before = sorted(sys.modules)
str(torch.ones(2))
def refused(f):
    try:
        f()
    except Exception as error:
        return type(error).__name__ + str(error)
try:
    del module.not_there
except AttributeError as error:
    missing = str(error)
print(json.dumps({
    "new modules": [name for name in sorted(sys.modules) if name not in before],
    "module": [repr(type(module)), repr(module) == repr(module), isinstance(module, types.ModuleType), missing],
    "source": [len(inspect.getsource(module)), inspect.getsourcefile(module._str), module._str is vars(module)["_str"]],
    "names": sorted(vars(module)), "dir": dir(module) == sorted(vars(module)) or len(dir(module)),
    "pickle": refused(lambda: pickle.dumps(module)),
    "handlers": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "threads": threading.active_count(), "hooks": [sys.gettrace() is None, sys.getprofile() is None],
    "faulthandler": ["faulthandler" in sys.modules, __import__("faulthandler").is_enabled()],
}))
"""  # noqa: E501


@pytest.fixture(scope="module")
def python(toolchains: Path, toolchain: str) -> str:
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    return found.python


NO_CARD = re.compile(r"^.*UserWarning: Can't initialize NVML\n.*_raw_device_count_nvml\(\)\n", re.MULTILINE)


def by_hand(python: str, script: str, folder: Path) -> tuple[int, str, str]:
    path = folder / "script.py"
    path.write_text(script)
    done = subprocess.run(
        [python, str(path)],
        capture_output=True,
        text=True,
        env={"LANG": "C.UTF-8", "HOME": str(folder)},
        cwd=folder,
        timeout=120,
        check=False,
    )
    # A toolchain has a path of its own inside the sandbox.
    prefix = str(Path(python).parent.parent)
    out, err = (
        text.replace(str(folder), "/home/u").replace(prefix, INSIDE) for text in (done.stdout, done.stderr)
    )
    return done.returncode, out, err


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_bytes_as_by_hand(name: str, python: str, execute: Execute, tmp_path: Path) -> None:
    seen = execute(SCRIPTS[name]).observation
    # A torch built for cards finds their driver in the sandbox, and no card. By hand there is a card.
    stderr = NO_CARD.sub("", seen.stderr)
    assert (seen.exit_status, seen.stdout, stderr) == by_hand(python, SCRIPTS[name], tmp_path)
    assert name not in SEEN or [value for value in seen.values if value.origin == "printed"]


def test_nothing_to_find(python: str, execute: Execute, tmp_path: Path) -> None:
    _, out, err = by_hand(python, LOOK_AROUND, tmp_path)
    seen = execute(LOOK_AROUND).observation
    assert (json.loads(seen.stdout), seen.stderr) == (json.loads(out), err)
