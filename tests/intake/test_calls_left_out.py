"""Functions that nothing calls: a decorator that only wraps a function runs nothing of it."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Reading

BODY = "def f(x):\n    return x / 0"
APP = "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/x')"


def report(code: str, words: str = "`ZeroDivisionError: division by zero`") -> Reading:
    return read(f"# f fails\n\nThis is `f`:\n\n```python\n{code}\n```\n\n{words}\n", form="report")


def asked(code: str, words: str = "`ZeroDivisionError: division by zero`") -> list[str]:
    return [each.code for each in report(code, words).ask]


@pytest.mark.parametrize(
    "code",
    [
        f"import jax\n\n@jax.jit\n{BODY}",
        f"from functools import partial\nimport jax\n\n@partial(jax.jit, static_argnums=0)\n{BODY}",
        f"import torch\n\n@torch.no_grad()\n@torch.compile(dynamic=True)\n{BODY}",
        f"from numba import njit\n\n@njit(cache=True)\n{BODY}",
        f"import functools\n\n@functools.cache\n{BODY}",
        f"import tensorflow as tf\n\n@tf.function(jit_compile=True)\n{BODY}",
        f"{APP}\n{BODY}",
        f"import jax\n\n{BODY}\n\nfast = jax.jit(f)",
        f"import numpy as np\n\n{BODY}\n\nover_all = np.vectorize(f, otypes=('f8',))",
        f"import triton\n\n@triton.jit\n{BODY}",
    ],
)
def test_nothing_calls_a_function_that_is_only_wrapped(code: str) -> None:
    assert asked(code) == ["nothing_calls_it"]


@pytest.mark.parametrize(
    "code",
    [
        f"import torch\n\n@torch.jit.script\n{BODY}",
        f"from numba import njit\n\n@njit('f8(f8)')\n{BODY}",
        f"from numba import njit, float64\n\n@njit(float64(float64))\n{BODY}",
        f"import jax\n\n@jax.jit\n{BODY}\n\nf(3.0)",
        f"import jax\n\n{BODY}\n\nprint(jax.jit(f)(3.0))",
        f"import jax\n\n{BODY}\n\nfast = jax.jit(f)\ny = fast(3.0)",
        f"from torch.utils.checkpoint import checkpoint\n\n{BODY}\n\ny = checkpoint(f, 3.0)",
        f"{APP}\n{BODY}\n\napp.test_client().get('/x')",
        f"from fastapi import FastAPI\napp = FastAPI()\n\n@app.get('/x')\n{BODY}",
    ],
)
def test_code_that_is_run_needs_no_call(code: str) -> None:
    assert asked(code) == []


def test_a_decorator_that_fails_itself_needs_no_call() -> None:
    code = f"import jax\n\n@jax.jit(static_argnums=7)\n{BODY}"
    frame = '  File "a.py", line 3, in <module>\n    @jax.jit(static_argnums=7)'
    words = f"```\nTraceback (most recent call last):\n{frame}\nValueError: bad number\n```"
    assert asked(code, words) == []
    # Here it is a call that the report does not show.
    frame = '  File "a.py", line 9, in <module>\n    f(3)\n  File "a.py", line 5, in f\n    return x / 0'
    words = f"```\nTraceback (most recent call last):\n{frame}\nZeroDivisionError: division by zero\n```"
    assert asked(code, words) == ["nothing_calls_it"]


@pytest.mark.parametrize(
    ("code", "loose"),
    [
        (f"import sparkle\n\n@sparkle.shine\n{BODY}", True),
        (f"import sparkle\n\n@sparkle.shine\n{BODY}\n\nf(1)", False),
        (f"import torch\n\n@torch.jit.script\n{BODY}", False),
    ],
)
def test_an_unknown_decorator_may_call_nothing(code: str, *, loose: bool) -> None:
    reading = report(code)
    assert reading.ask == ()
    assert [check.loose for check in reading.claim.checks] == [loose]
