"""Imports that the prose of a report tells, and not its code."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.code.mends.told_imports import told_imports

CODE = "print(np.where(np.isnan(np.zeros(2)), 1, 0))\nprint(grad(lambda x: x * x)(2.0))"


def first_line(words: str, code: str = CODE) -> str:
    reading = read(f"# Gradient is nan\n\n{words}\n\n```python\n{code}\n```\n\nIt prints nan.\n")
    return reading.scripts[0].script.partition("\n")[0]


@pytest.mark.parametrize(
    "words",
    [
        "(`np` is `jax.numpy` here.)",
        "Here np stands for jax.numpy.",
        "I did `import jax.numpy as np` above.",
        "In what follows np = jax.numpy.",
        "where `np` means the module `jax.numpy`",
    ],
)
def test_a_short_name_is_the_module_that_the_words_tell(words: str) -> None:
    line = first_line(words)
    assert "import jax.numpy as np" in line
    assert "from jax import grad" in line


@pytest.mark.parametrize("words", ["`np` is slow.", "The library is numpy.", "It is from `nowhere`.", ""])
def test_other_words_tell_no_import(words: str) -> None:
    assert first_line(words).startswith("import numpy as np")


def test_a_name_comes_from_a_module() -> None:
    code = "print(quad(lambda x: x, 0, 1))"
    assert "from scipy.integrate import quad" in first_line("`quad` is from `scipy.integrate`.", code)


def test_code_in_a_fence_tells_nothing() -> None:
    assert told_imports("```\nnp = scipy\n```\n") == {}
    assert told_imports("np = scipy\n```\nnp = jax\n```\n") == {"np": "import scipy as np"}


def test_statement_that_is_no_python_is_left_alone() -> None:
    assert told_imports("I tried `import a b c` and `from x import *`.") == {}
