"""A table of scripts and settings, with the right decision between a warm and a cold start."""

from __future__ import annotations

import pytest

from worker.contract import ToolchainFacts
from worker.contract.target_settings import apply_settings
from worker.warm.eligibility import why_cold

TORCH = ToolchainFacts(
    name="t", state="ready", torch="2.13.0", packages={"torch": "2.13.0"}, cpu_isa=["compatible"]
)

# The code of the expected reason, or None for a warm start, and the script.
SCRIPTS: dict[str, tuple[str | None, str]] = {
    "plain": (None, "import torch\nprint(torch.ones(2))"),
    "from": (None, "from torch import nn\nprint(nn.Linear(2, 2))"),
    "submodule": (None, "import torch.nn.functional as F"),
    "in a function": (None, "def f():\n    import torch\n    return torch.ones(1)\nf()"),
    "caught": (None, "try:\n    import torch\nexcept ImportError:\n    raise SystemExit(0)\n"),
    "harmless variable": (None, "import os, torch\nos.environ['FOO'] = '1'"),
    "address of a group": (
        None,
        "import os, torch\nos.environ['MASTER_ADDR'] = 'localhost'\nos.environ.setdefault('RANK', '0')",
    ),
    "reads the environment": (
        None,
        "import os, torch\nprint(os.environ.get('OMP_NUM_THREADS'), 'X' in os.environ, os.environ['HOME'])",
    ),
    "passes a copy on": (
        None,
        (
            "import os, subprocess, torch\n"
            "subprocess.run(['true'], env={**os.environ, 'A': '1'})\nos.environ.copy()"
        ),
    ),
    "numpy first": (None, "import numpy as np\nimport torch"),
    "standard library first": (
        None,
        "import json, os, sys, math\nfrom dataclasses import dataclass\nimport torch",
    ),
    "others after": (None, "import torch\nimport transformers"),
    "warnings after": (None, "import torch, warnings\nwarnings.simplefilter('ignore')"),
    "compile": (None, "import torch\nf = torch.compile(lambda x: x)\ng = torch.nn.Linear(1, 1).eval()"),
    "version": (None, "import sys, torch\nprint(sys.version, sys.argv, torch.__version__)"),
    "getattr of torch": (None, "import torch\nfor n in ('float32', 'half'):\n    print(getattr(torch, n))"),
    "fork of its own": (None, "import multiprocessing as mp, torch\nmp.Process(target=print).start()"),
    "recursion": (None, "import sys, torch\nsys.setrecursionlimit(5000)"),
    "threads by name": (None, "import torch\ntorch.set_num_threads(1)\ntorch.manual_seed(0)"),
    "variable before": ("environment", "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch"),
    "variable after": ("environment", "import os, torch\nos.environ['TORCH_LOGS'] = '+dynamo'"),
    "card's variable": ("environment", "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\nimport torch"),
    "allocator": ("environment", "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'\nimport torch"),
    "computed key": ("environment", "import os, torch\nk = 'OMP_' + 'NUM_THREADS'\nos.environ[k] = '1'"),
    "update": ("environment", "import os, torch\nos.environ.update(TORCH_LOGS='+dynamo')"),
    "update by mapping": (
        "environment",
        "import os, torch\nos.environ.update({'A': '1', 'MKL_CBWR': 'COMPATIBLE'})",
    ),
    "update by what it does not show": ("environment", "import os, torch\nos.environ.update(settings)"),
    "pop": ("environment", "import os, torch\nos.environ.pop('LD_PRELOAD', None)"),
    "delete": ("environment", "import os, torch\ndel os.environ['PYTHONHASHSEED']"),
    "clear": ("environment", "import os, torch\nos.environ.clear()"),
    "replaced": ("environment", "import os, torch\nos.environ = {}"),
    "another name": ("environment", "from os import environ as e\ne['OMP_NUM_THREADS'] = '1'\nimport torch"),
    "another name later": ("environment", "import os, torch\ne = os.environ\ne['OMP_NUM_THREADS'] = '1'"),
    "module by another name": (
        "environment",
        "import os as o\no.environ['KMP_AFFINITY'] = 'x'\nimport torch",
    ),
    "patched": (
        "environment",
        "import os, torch\nfrom unittest import mock\nmock.patch.dict(os.environ, {'A': 'b'}).start()",
    ),
    "putenv": ("changes_process", "import os, torch\nos.putenv('OMP_NUM_THREADS', '1')"),
    "getattr trick": (
        "hidden_names",
        "import os as o, torch\ngetattr(o, 'environ')['OMP_NUM_THREADS'] = '1'",
    ),
    "getattr of a getattr": ("hidden_names", "import torch\ngetattr(torch.os, 'environ')['A'] = '1'"),
    "all of os": ("hidden_names", "from os import *\nimport torch"),
    "reload": ("dynamic_code", "import importlib, torch\nimportlib.reload(torch)"),
    "import by name": ("dynamic_code", "import torch\nfrom importlib import import_module as im\nim('gc')"),
    "exec": ("dynamic_code", "import torch\nexec('import os')"),
    "eval": ("dynamic_code", "import torch\neval('1')"),
    "dunder import": ("dynamic_code", "import torch\n__import__('os').environ['A'] = 'b'"),
    "builtins": ("dynamic_code", "import builtins, torch\nbuiltins.print(1)"),
    "exec of another program": (
        "changes_process",
        "import os, sys, torch\nos.execv(sys.executable, ['python'])",
    ),
    "modules": ("observes_process", "import sys, torch\nprint('numpy' in sys.modules)"),
    "path": ("observes_process", "import sys\nsys.path.insert(0, '/tmp')\nimport torch"),
    "finders": ("observes_process", "import sys, torch\nsys.meta_path.append(1)"),
    "from sys": ("observes_process", "from sys import modules\nimport torch\nmodules.clear()"),
    "gc": ("observes_process", "import gc, torch\nprint(len(gc.get_objects()))"),
    "tracemalloc": ("observes_process", "import tracemalloc\nimport torch\ntracemalloc.start()"),
    "faulthandler": ("observes_process", "import faulthandler, torch\nfaulthandler.enable()"),
    "ctypes": ("observes_process", "import ctypes, torch\nctypes.CDLL(None).setenv(b'A', b'1', 1)"),
    "resource": ("observes_process", "import resource, torch"),
    "psutil": ("observes_process", "import torch, psutil"),
    "identity": ("identity", "import torch\nprint(id(torch))"),
    "hash": ("identity", "import torch\nprint(hash('a') % 7)"),
    "profiler": ("measures_time", "import torch\nfrom torch.profiler import profile"),
    "benchmark": ("measures_time", "import torch\nfrom torch.utils import benchmark"),
    "autograd's profiler": (
        "measures_time",
        "import torch\nwith torch.autograd.profiler.profile() as p:\n    pass",
    ),
    "timeit": ("measures_time", "import timeit, torch"),
    "a clock around the import": (
        "measures_time",
        "import time\nbegan = time.perf_counter()\nimport torch",
    ),
    "clock by name": ("measures_time", "from time import time\nbegan = time()\nimport torch"),
    "a clock after": (None, "import time, torch\nbegan = time.time()"),
    "classes": ("observes_process", "import torch\nprint(len(object.__subclasses__()))"),
    "what would be imported": (
        "dynamic_code",
        "import importlib.util\nprint(importlib.util.find_spec('torch'))\nimport torch",
    ),
    "sklearn first": ("import_order", "import sklearn\nimport torch"),
    "torch in a function, others first": ("import_order", "import scipy\ndef f():\n    import torch\nf()"),
    "warnings before": ("before_torch", "import warnings\nwarnings.simplefilter('error')\nimport torch"),
    "warnings by name": (
        "before_torch",
        "from warnings import simplefilter\nsimplefilter('error')\nimport torch",
    ),
    "logging before": ("before_torch", "import logging\nlogging.basicConfig(level=10)\nimport torch"),
    "spawn": ("other_process_start", "import torch.multiprocessing as mp\nmp.set_start_method('spawn')"),
    "spawn of torch": (
        "other_process_start",
        "import torch.multiprocessing as mp\nmp.spawn(print, nprocs=2)",
    ),
    "forkserver": (
        "other_process_start",
        "import torch, multiprocessing\nmultiprocessing.get_context('forkserver')",
    ),
    "no torch": ("no_torch_import", "print(1)"),
    "syntax": ("unreadable", "import torch\ndef("),
    "NUL": ("unreadable", "import torch\n\0"),
}


@pytest.mark.parametrize(("code", "script"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_scripts(code: str | None, script: str) -> None:
    reason = why_cold(script, toolchain=TORCH, variables={})
    assert (reason.code if reason else None) == code


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, None),
        ({"seed": "1"}, None),
        ({"tf32": "on"}, None),
        ({"tf32": "off"}, "settings"),
        ({"threads": "1"}, "settings"),
        ({"cpu-isa": "compatible"}, "settings"),
        ({"deterministic": "on"}, "settings"),
        ({"fill": "nan"}, "settings"),
    ],
)
def test_settings(settings: dict[str, str], code: str | None) -> None:
    variables = apply_settings(settings, cpu_isa=TORCH.cpu_isa).variables
    reason = why_cold("import torch", toolchain=TORCH, variables=variables)
    assert (reason.code if reason else None) == code


def test_a_toolchain_without_torch() -> None:
    reason = why_cold("import torch", toolchain=ToolchainFacts(name="bare", state="ready"), variables={})
    assert reason is not None
    assert reason.code == "no_torch"


def test_a_reason_holds_the_line_and_nothing_of_the_script() -> None:
    reason = why_cold(
        "import os, torch\n\nos.environ['OMP_SECRET_WORD'] = 'x'", toolchain=TORCH, variables={}
    )
    assert reason is not None
    assert reason.detail == "line 3: sets an environment variable that libraries read when they start"
