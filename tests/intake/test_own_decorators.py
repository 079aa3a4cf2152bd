"""Scripts whose own decorators only wrap what they are given: nothing calls what they define."""

from __future__ import annotations

import pytest
from default_limits import read


def asks_of(code: str) -> list[str]:
    reading = read(f"# Endless loop in a decorator\n\n```python\n{code}\n```\n\nIt never ends.\n")
    return [ask.code for ask in reading.ask]


TWICE = "def twice(f):\n    def both(*args):\n        f(*args)\n        return f(*args)\n    return both\n"


@pytest.mark.parametrize(
    "code",
    [
        f"{TWICE}@twice\ndef show(x):\n    while True:\n        x += 1\n",
        f"{TWICE}def show(x):\n    while True:\n        x += 1\nshow = twice(show)\n",
        (
            "from functools import wraps, update_wrapper\n"
            "def tries(most=3):\n    '''Try again.'''\n    def wrap(f):\n        @wraps(f)\n"
            "        def inner(*args):\n            while True:\n                f(*args)\n"
            "        return inner\n    return wrap\n"
            "@tries(most=5)\ndef load(path):\n    return open(path)\n"
        ),
        (
            "import functools\n"
            "def quiet(f):\n    def inner(*args):\n        while True:\n            f(*args)\n"
            "    inner.calls = 0\n    return functools.update_wrapper(inner, f)\n"
            "@quiet\nasync def load(path):\n    return path\n"
        ),
        (
            "class Kept:\n    def __init__(self, f):\n        self.f = f\n        self.seen = {}\n"
            "    def __call__(self, x):\n        while True:\n            self.f(x)\n"
            "@Kept\ndef load(path):\n    return path\n"
        ),
        "def always(f):\n    return lambda *a: always(f)(*a)\n@always\ndef load(path):\n    return path\n",
    ],
)
def test_a_decorator_that_only_wraps_calls_nothing(code: str) -> None:
    assert asks_of(code) == ["nothing_calls_it"]


@pytest.mark.parametrize(
    "code",
    [
        # The decorator calls the function, or another one.
        "def once(f):\n    f(1)\n    return f\n@once\ndef show(x):\n    while True:\n        x += 1\n",
        f"{TWICE}import lib\n@lib.run\n@twice\ndef show(x):\n    while True:\n        x += 1\n",
        "seen = []\ndef keep(f):\n    seen.append(f)\n    return f\n@keep\ndef show(x):\n    return x\n",
        "class Run:\n    def __init__(self, f):\n        self.x = f(1)\n@Run\ndef show(x):\n    return x\n",
        # It can't be called so, and what its argument does is unknown.
        f"{TWICE}@twice()\ndef show(x):\n    return x\n",
        f"{TWICE}def show(x):\n    while True:\n        x += 1\nshow = twice(show)\nshow(1)\n",
    ],
)
def test_a_decorator_that_runs_something(code: str) -> None:
    assert "nothing_calls_it" not in asks_of(code)
