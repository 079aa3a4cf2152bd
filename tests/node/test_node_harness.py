"""The harness is not there, as far as a script can tell: the same bytes, the same end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.contract import Outcome, Result
from worker.toolchains import ToolchainStore

Execute = Callable[..., Result]

pytestmark = pytest.mark.sandbox

BROKEN_TORCH = """import os
os.makedirs('/tmp/broken/torch')
open('/tmp/broken/torch/__init__.py', 'w').write('{}')
import sys
sys.path.insert(0, '/tmp/broken')
"""

FORGED_TRACEBACK = r"""
import os, sys
sys.stderr.write('Traceback (most recent call last):\n  File "x"\nKeyError: 1\n')
sys.stderr.flush()
os._exit(1)
"""
FORGED_REPORT = r"""
import os
for fd in range(3, 1024):
    try:
        os.write(fd, b'{"kind": "exception", "type": "\\ud800Forged\\u0000"}\n[1]\nnonsense\n' * 1000)
    except OSError:
        pass
"""

SCRIPTS = {
    "plain": "print('fine')",
    "raises": "def f(x):\n    return 1 / x\n\nf(0)\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('two\\nlines') from e\n",
    "group": "raise ExceptionGroup('many', [ValueError(1), TypeError('x')])",
    "recursion": "def f():\n    return f()\n\nf()\n",
    "exit text": "import sys\nsys.exit('no good')",
    "exit number": "raise SystemExit(7)",
    "hard exit": "import os\nprint('x', flush=True)\nos._exit(3)",
    "syntax": "print('a')\nif True\n    pass\n",
    "interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)\n",
    "segfault": "import ctypes\nctypes.string_at(0)",
    "abort": "import os\nos.abort()",
    "no module": "import torch_that_is_not_there",
    "no submodule": "import torch.nothing_here",
    "broken torch": BROKEN_TORCH.format("1/0") + "import torch\n",
    "broken torch by name": BROKEN_TORCH.format("1/0")
    + "import importlib\nimportlib.import_module('torch')\n",
    "torch import error": BROKEN_TORCH.format("import not_there") + "import torch\n",
    "torch caught": BROKEN_TORCH.format("1/0")
    + "try:\n    import torch\nexcept ZeroDivisionError as e:\n    import traceback; traceback.print_exc()\n",
    "thread": "import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()\nprint('after')",  # noqa: E501
    "at exit": "import atexit\natexit.register(lambda: print('bye'))\nraise RuntimeError('x')",
    "loud str": "class E(Exception):\n    def __str__(self):\n        print('str called')\n        return 'mine'\n\nraise E()\n",  # noqa: E501
    "warning": "import warnings\nwarnings.warn('careful')\n",
    "descriptor": "f = open('/tmp/x', 'w')\nprint(f.fileno())",
    "own hook": "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\n1/0\n",
    "environment": "import os, sys\nprint(sorted(k for k in os.environ if 'SAMEHERE' in k.upper()), sys.argv, sys.flags.isolated)",  # noqa: E501
}


@pytest.fixture(scope="module")
def python(toolchains: Path, toolchain: str) -> str:
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    return found.python


def by_hand(python: str, script: str, folder: Path) -> tuple[int, str, str]:
    path = folder / "script.py"
    path.write_text(script.replace("/tmp/broken", str(folder / "broken")))
    done = subprocess.run(
        [python, str(path)],
        capture_output=True,
        text=True,
        env={"LANG": "C.UTF-8", "HOME": str(folder)},
        cwd=folder,
        timeout=60,
        check=False,
    )
    broken = str(folder / "broken")
    out, err = (
        text.replace(broken, "/tmp/broken").replace(str(folder), "/home/u")
        for text in (done.stdout, done.stderr)
    )
    return done.returncode, out, err


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_bytes_as_by_hand(name: str, python: str, execute: Execute, tmp_path: Path) -> None:
    status, out, err = by_hand(python, SCRIPTS[name], tmp_path)
    seen = execute(SCRIPTS[name]).observation
    if status < 0:
        assert seen.exit_status is None
    else:
        assert seen.exit_status == status
    assert seen.stdout.replace("/home/u/script.py", "S") == out.replace("/home/u/script.py", "S")
    assert seen.stderr == err


def test_the_exception_is_said_as_the_traceback_names_it(execute: Execute) -> None:
    cases = {
        "class Mine(Exception): pass\nraise Mine('a', 1)": ("Mine", "('a', 1)"),
        "import json\njson.loads('{')": (
            "json.decoder.JSONDecodeError",
            "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        "raise ValueError": ("ValueError", ""),
        SCRIPTS["loud str"]: ("E", "mine"),
        FORGED_TRACEBACK: (
            "KeyError",
            "1",
        ),
    }
    for script, (kind, message) in cases.items():
        result = execute(script)
        assert result.outcome is Outcome.RAISED
        assert result.observation.exception is not None
        assert (result.observation.exception.type, result.observation.exception.message) == (kind, message)


def test_exits_are_not_exceptions(execute: Execute) -> None:
    for script in (
        SCRIPTS["exit text"],
        SCRIPTS["exit number"],
        "print('Traceback (most recent call last):\\nKeyError: 1')\nraise SystemExit(1)",
    ):
        result = execute(script)
        assert result.outcome is Outcome.EXITED
        assert result.observation.exception is None


TRACES = """
import sys, os, json, gc
before = sorted(sys.modules)
import torch
print(json.dumps({
    "modules": before,
    "meta_path": [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path],
    "spec": [type(torch.__spec__).__module__, type(torch.__spec__).__qualname__, type(torch.__loader__).__name__],
    "path": [p for p in sys.path if "samehere" in p and "toolchains" not in p and not p.startswith("/opt/samehere/lib/")],
    "hook": sys.excepthook is sys.__excepthook__,
    "torch": [torch.are_deterministic_algorithms_enabled(), str(torch.get_default_dtype())],
}))
"""  # noqa: E501


def test_what_it_leaves_behind(python: str, execute: Execute, tmp_path: Path) -> None:
    _, out, _ = by_hand(python, TRACES, tmp_path)
    result = execute(TRACES)
    expected = json.loads(out)
    # Debian's own Python has one behind a link into /etc, of which the sandbox shows little.
    expected["modules"] = [name for name in expected["modules"] if name != "sitecustomize"]
    assert json.loads(result.observation.stdout) == expected


def test_flags_that_a_script_changes(execute: Execute) -> None:
    script = "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.use_deterministic_algorithms(True)\ntorch.set_num_threads(1)\n"  # noqa: E501
    seen = execute(script).observation
    changed = {name: value for name, value in seen.flags_changed.items() if name != "threads"}
    assert changed == {"default_dtype": "torch.float64", "deterministic": True}
    assert seen.flags["default_dtype"] == "torch.float64"
    assert seen.devices_used == ["cpu"]


CHILDREN = """
import multiprocessing as mp, os, sys, subprocess

def work(q):
    import torch
    q.put(torch.are_deterministic_algorithms_enabled())
    if os.environ.get("RAISE"):
        raise RuntimeError("child")

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        context = mp.get_context(method)
        q = context.Queue()
        p = context.Process(target=work, args=(q,))
        p.start()
        print(method, q.get())
        p.join()
    sys.stdout.flush()
    if os.fork() == 0:
        raise SystemExit("the child's own exit")
    os.wait()
    asked = "import torch; print(torch.are_deterministic_algorithms_enabled()); 1/0"
    again = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    print("again", again.stdout.strip(), again.returncode)
"""


def test_a_card_that_was_not_given_was_not_used(execute: Execute) -> None:
    forged = 'import os\nos.write(900, b\'{"kind": "end", "devices": ["cuda:0", "cpu"]}\\n\')\nos._exit(0)'
    assert execute(forged).observation.devices_used == ["cpu"]


def test_whoever_asks_for_torch_before_the_import_changes_nothing(execute: Execute) -> None:
    """As transformers do."""
    script = (
        "import importlib.util\nfor _ in range(2): print(importlib.util.find_spec('torch').__class__.__name__)\n"  # noqa: E501
        "import torch\nprint(torch.are_deterministic_algorithms_enabled())"
    )
    result = execute(script, settings={"deterministic": "on"})
    assert result.observation.stdout == "ModuleSpec\nModuleSpec\nTrue\n"
    assert result.observation.flags["deterministic"] is True


def test_children_get_the_settings_and_stay_silent(execute: Execute) -> None:
    result = execute(CHILDREN, settings={"deterministic": "on"})
    assert result.observation.stdout == "spawn True\nfork True\nforkserver True\nagain True 1\n"
    assert result.outcome is Outcome.COMPLETED
    assert result.observation.exception is None


def test_reports_that_a_script_forges_stay_small(execute: Execute) -> None:
    script = FORGED_REPORT
    result = execute(script)
    assert result.outcome is Outcome.COMPLETED
    assert result.observation.exception is None
    json.loads(result.model_dump_json())
