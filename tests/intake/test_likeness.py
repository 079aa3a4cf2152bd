"""Scripts that are equal in shape, or nearly equal."""

from __future__ import annotations

import ast
import builtins
import keyword
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.intake.code.likeness import (
    NEARLY_EQUAL,
    SKETCH_VALUES,
    WORTH_A_LOOK,
    likeness,
    marks_of,
    shape_digest,
    sketch,
    sketched_likeness,
)

CASES = Path(__file__).parents[1] / "mini"

ONE = '''import torch

# what it is about
def total(values, scale=2):
    """Sums up."""
    result = values.sum() * scale
    return result

input = torch.ones(3, device="cpu")
for row in input:
    print(total(row), [cell + 1 for cell in row.reshape(1)])
'''
SAME = """import torch
def f(a, scale=2):
    r = (
        a.sum() * scale)
    return r
t = torch.ones(3, device='cpu')   # another comment
for x in t: print(f(x), [y + 1 for y in x.reshape(1)])
"""


def test_formatting_comments_docstrings_and_local_names_make_no_difference() -> None:
    assert shape_digest(ONE) == shape_digest(SAME)
    assert likeness(ONE, SAME) == 1.0
    assert marks_of(ONE) == marks_of(SAME)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".sum()", ".prod()"),
        ("device=", "out="),
        ('"cpu"', '"cuda"'),
        ("ones(3", "ones(4"),
        ("* scale", "+ scale"),
        ("import torch\n", "import torch as torch2\n"),
        ("return result", "return values"),
        ("print(total", "repr(total"),
        ("ones(3,", "ones(3.0,"),
        ("cell + 1", "cell + True"),
    ],
)
def test_what_is_run_makes_one(old: str, new: str) -> None:
    assert old in ONE
    assert shape_digest(ONE) != shape_digest(ONE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "def f(a, b):\n    return a - b\nprint(f(a=1, b=2))\n",
            "def f(b, a):\n    return b - a\nprint(f(a=1, b=2))\n",
        ),
        ("class A:\n    x = 1\nprint(A.x)\n", "class A:\n    y = 1\nprint(A.x)\n"),
        ("x = 1\nprint(eval('x'))\n", "y = 1\nprint(eval('x'))\n"),
        ("x = 1\ny = 2\nprint(x)\n", "x = 1\ny = 2\nprint(y)\n"),
        (
            "x = 1\ndef f():\n    x = 2\nf()\nprint(x)\n",
            "x = 1\ndef f():\n    global x\n    x = 2\nf()\nprint(x)\n",
        ),
    ],
)
def test_names_that_mean_something_are_kept_apart(one: str, other: str) -> None:
    assert shape_digest(one) != shape_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f():\n    x = 1\n    return x\nx = 2\n", "def f():\n    y = 1\n    return y\nx = 2\n"),
        (
            "try:\n    g()\nexcept ValueError as e:\n    print(e)\n",
            "try:\n    g()\nexcept ValueError as error:\n    print(error)\n",
        ),
        (
            "match g():\n    case [a, *b]:\n        print(a, b)\n",
            "match g():\n    case [c, *d]:\n        print(c, d)\n",
        ),
        ("n = 0\ndef f():\n    global n\n    n += 1\n", "m = 0\ndef f():\n    global m\n    m += 1\n"),
        (
            "class A:\n    def f(self, x):\n        return x\n",
            "class B:\n    def f(this, y):\n        return y\n",
        ),
        ("h = lambda x: x\n", "g = lambda y: y\n"),
        ("def f():\n    '''Only this.'''\n", "def f():\n    pass\n"),
    ],
)
def test_names_of_every_scope_may_differ(one: str, other: str) -> None:
    assert shape_digest(one) == shape_digest(other)


def test_what_cannot_be_parsed_equals_itself_alone() -> None:
    assert shape_digest("print 1") == shape_digest("print 1")
    assert shape_digest("print 1") != shape_digest("print  1")
    assert likeness("print 1, x", "print 1, x") == 1.0
    assert shape_digest("x = " + "(" * 500 + ")" * 500)


def test_other_constants_and_a_line_more_are_nearly_equal() -> None:
    for other in (ONE.replace("3", "1024"), ONE + "print(total(input))\n", ONE.replace("cpu", "cuda")):
        assert NEARLY_EQUAL <= likeness(ONE, other) < 1
        assert sketched_likeness(sketch(ONE), sketch(other)) >= WORTH_A_LOOK


def test_different_scripts_are_not() -> None:
    scripts = [path.read_text() for path in sorted(CASES.glob("*/script.py"))]
    assert len(scripts) > 10
    other = "import torch\na = torch.randn(4, 4)\nprint(torch.linalg.svd(a).S, torch.__version__)\n"
    assert max(likeness(other, script) for script in scripts) < NEARLY_EQUAL


def test_another_function_in_two_lines_is_another_script() -> None:
    assert (
        likeness(
            "import torch\nprint(torch.logdet(torch.zeros(2, 2)))\n",
            "import torch\nprint(torch.svd(torch.eye(5)))\n",
        )
        < NEARLY_EQUAL
    )


def test_a_sketch_is_small_and_tells_about_the_likeness() -> None:
    assert len(sketch(ONE)) == 4 * SKETCH_VALUES
    assert sketched_likeness(sketch(ONE), sketch(ONE)) == 1.0
    assert sketched_likeness(sketch(ONE), b"") == 0.0
    assert sketched_likeness(sketch(ONE), sketch("print(1)\n")) < WORTH_A_LOOK
    assert len(sketch("")) == 4 * SKETCH_VALUES


NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name) and not hasattr(builtins, name)
)


@given(st.lists(NAMES, min_size=4, max_size=4, unique=True).filter(lambda names: "torch" not in names))
def test_any_consistent_names_give_the_same_digest(names: list[str]) -> None:
    template = (
        "import torch\ndef {0}({1}):\n    return torch.sum({1})\n{2} = torch.ones(2)\n"
        "for {3} in {2}:\n    print({0}({3}))\n"
    )
    assert shape_digest(template.format(*names)) == shape_digest(template.format("aa", "bb", "cc", "dd"))


@given(st.text(max_size=200))
def test_any_text_has_marks(text: str) -> None:
    marks = marks_of(text)
    assert marks.shape_digest == shape_digest(text)
    assert marks.sketch == sketch(text)
    assert likeness(text, text) == 1.0


@given(st.sampled_from([ONE, SAME, "x = 1", "print(2)"]), st.text(alphabet="ab=()\n 12", max_size=40))
def test_likeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one)
    assert 0.0 <= likeness(one, other) <= 1.0


@pytest.mark.parametrize("path", sorted(CASES.glob("*/script.py")), ids=lambda path: path.parent.name)
def test_a_script_written_anew_by_its_syntax_has_the_same_digest(path: Path) -> None:
    text = path.read_text()
    assert shape_digest(ast.unparse(ast.parse(text))) == shape_digest(text)
