"""Sessions of Python and IPython as people paste them: odd prompts, code above the first prompt."""

from __future__ import annotations

import ast

import pytest
from default_limits import read

from app.intake.snippets.displayed_values import DISPLAY
from app.intake.snippets.scripts import RepairRules, make_script


def script_of(block: str, *, above: str = "", below: str = "") -> str:
    reading = read(f"# The sum is wrong\n\n{above}\n\n{block}\n\n{below}\n", form="report")
    return reading.scripts[0].script if reading.scripts and not reading.ask else ""


def displayed(value: str) -> str:
    return f"{DISPLAY}{value})"


@pytest.mark.parametrize(
    "expression",
    [
        *("a, b", "(a, b)", "(a), b", "(a), (b)", "a,", "()", "*a, b", "a, b if c else d", "(a, b), c"),
        *("(a, b)[0]", "(a, b) + (c,)", "a[1:2, 3]", "(x for x in a)", "(y := 3)", "lambda: 0", "not a"),
        *("lambda x, y=2: (x, y)", "a if b else c", "yield a", "(yield a)", "yield", "'é', a", "f(x), g(y)"),
        *("(\n    a,\n    b)", "a, \\\n    b", "await f()", "[a, b]", "a == b, c", "a, b  # both"),
    ],
)
def test_each_expression_is_displayed_as_one_value(expression: str) -> None:
    script = make_script(expression, transcript=True, rules=RepairRules(imports=False)).script
    (call,) = [node.value for node in ast.parse(script).body if isinstance(node, ast.Expr)]
    value = ast.parse(expression).body[0]
    assert isinstance(call, ast.Call)
    assert isinstance(value, ast.Expr)
    assert [ast.dump(argument) for argument in call.args] == [ast.dump(value.value)]
    assert not call.keywords


def test_two_tuples_on_a_line_are_two_values() -> None:
    script = make_script("a = b = 1; a, b; b, a", transcript=True).script
    assert script == f"a = b = 1; {displayed('(a, b)')}; {displayed('(b, a)')}\n"


@pytest.mark.parametrize(
    "session",
    [
        ">>>import numpy as np\n>>>np.sum([4])\n4",
        ">>>  import numpy as np\n>>>  np.sum([4])\n4",
        ">>>\timport numpy as np\n>>>\tnp.sum([4])\n4",
        "In [1]:  import numpy as np\n\nIn [2]:   np.sum([4])\nOut[2]: 4\n\nIn [3]:",
        "In [1]:\nimport numpy as np\nIn [2]:\nnp.sum([4])\nOut[2]:\n4\n\nIn [ ]:",
        "   In [1]: import numpy as np\n\n   In [2]: np.sum([4])\n   Out[2]: 4\n",
        "import numpy as np\n>>> np.sum([4])\n4",
        "import numpy as np\n\nIn [8]: np.sum([4])\nOut[8]: 4",
        "$ python3\nPython 3.9.1 (default)\n[GCC] on linux\n>>> import numpy as np\n>>> np.sum([4])\n4",
    ],
)
def test_a_session_with_odd_prompts_is_read(session: str) -> None:
    lines = script_of(f"```\n{session}\n```").strip().split("\n")
    assert [line for line in lines if line] == ["import numpy as np", displayed("np.sum([4])")]


def test_a_session_without_a_fence_may_have_wide_prompts() -> None:
    text = "In [1]:  import numpy as np\n\nIn [2]:  np.sum([4])\nOut[2]: 4\n\nIn [3]:"
    assert script_of(text) == f"import numpy as np\n{displayed('np.sum([4])')}\n"


@pytest.mark.parametrize(
    "session",
    [
        "In [1]:  def f(x):\n   ...:      return x\n   ...: \nIn [2]:   f(3)\nOut[2]: 3",
        "In [1]:  def f(x):\n   ...:     return x\nIn [2]:  f(3)\nOut[2]: 3",
        "In [1]: def f(x):\n...:     return x\nIn [2]: f(3)\nOut[2]: 3",
        ">>> def f(x):\n>>>     return x\n>>> f(3)\n3",
        ">>>  def f(x):\n...      return x\n...\n>>>  f(3)\n3",
    ],
)
def test_a_block_keeps_its_indent_behind_odd_prompts(session: str) -> None:
    tree = ast.parse(script_of(f"```\n{session}\n```"))
    assert [type(node) for node in tree.body] == [ast.FunctionDef, ast.Expr]


def test_code_above_a_traceback_belongs_to_the_session_below_it() -> None:
    block = (
        "```python\nimport numpy as np\nsizes = (3, 4)\nrows = np.ones(sizes)\nTraceback (most recent call"
        ' last):\n  File "<stdin>", line 1, in <module>\nMemoryError: too large\n\nI went on with less of'
        " it.\n>>> rows = np.ones(3)\n>>> np.reshape(rows, sizes)\nTraceback (most recent call last):\n"
        '  File "<stdin>", line 1, in <module>\nValueError: cannot reshape\n```'
    )
    assert script_of(block) == (
        "import numpy as np\nsizes = (3, 4)\nrows = np.ones(sizes)\nrows = np.ones(3)\n"
        f"{displayed('np.reshape(rows, sizes)')}\n"
    )


def test_prompts_in_a_docstring_are_no_session() -> None:
    code = (
        'import math\ndef f(x):\n    """Half.\n\n    >>> f(2)\n    1.0\n    """\n    return x\nprint(f(3))\n'
    )
    assert script_of(f"```python\n{code}```") == code


def test_words_above_a_session_are_no_code() -> None:
    session = "The sum of it:\n>>> import numpy as np\n>>> np.sum([4])\n4"
    assert script_of(f"```\n{session}\n```") == f"import numpy as np\n{displayed('np.sum([4])')}\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Correct in python 2.7.4:", "But wrong on python 3.3.1:"),
        ("With python 2.7 the answer is right:", "On python 3.3 it is not:"),
    ],
)
def test_two_whole_sessions_in_one_fence_are_told_apart_by_the_words_above(right: str, wrong: str) -> None:
    greeting = '[GCC 4.7.3] on linux2\nType "help", "copyright", "credits" or "license" for more information.'
    first = f"Python 2.7.4 (default, Sep 26 2013)\n{greeting}\n>>> sum([1, 2])\n3"
    second = f"Python 3.3.1 (default, Sep 25 2013)\n{greeting}\n>>> sum([1, 2])\n4"
    session = f"```\nTried on Ubuntu.\n\n{right}\n\n{first}\n\n{wrong}\n\n{second}\n```"
    reading = read(f"# The sum is right in 2.7 and wrong in 3.3\n\n{session}\n", form="report")
    assert {check.role.value: check.lines for check in reading.claim.checks} == {
        "bug": ("4",),
        "expected": ("3",),
    }
