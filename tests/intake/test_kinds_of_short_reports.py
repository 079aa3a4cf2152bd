"""Kinds that cost verdicts on `public_21`: results of assignments, sessions that go on, calls with arrows."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import ScriptRole

ASSIGNED = """# cumprod is wrong

```python
import jax.numpy as jnp
a = jnp.ones(2)
left = jnp.cumprod(a)  # got Array([1., 2.], dtype=float32)
right = jnp.prod(a)  # got Array(1., dtype=float32)
```
"""


def test_a_comment_may_show_the_result_of_an_assignment() -> None:
    reading = read(ASSIGNED, form="report")
    (check,) = reading.claim.checks
    assert check.lines == ("Array([1., 2.], dtype=float32)", "Array(1., dtype=float32)")
    shows = [line.partition("; ")[2] for line in reading.scripts[0].script.split("\n") if "display" in line]
    assert [line.partition("  #")[0] for line in shows] == [
        '__import__("sys").displayhook(left)',
        '__import__("sys").displayhook(right)',
    ]


def test_an_input_with_a_comment_is_not_shown() -> None:
    text = "# sum\n\n```python\nimport torch\nn = 5  # 10\nprint(torch.ones(n).sum())\n```\nIt prints 6.0.\n"
    assert "displayhook" not in read(text, form="report").scripts[0].script


GOES_ON = """# the integral is wrong

```python
from sympy import *
x, w = symbols("x w", real=True)
area = integrate(w * x, w)
```

Compare both:

```python
>>> area.subs(x, 1)
5*w
```
"""


def test_a_session_goes_on_with_the_names_of_the_script_above() -> None:
    (script,) = read(GOES_ON, form="report").scripts
    assert "integrate(w * x, w)" in script.script
    assert "displayhook(area.subs(x, 1))" in script.script


def test_a_session_beside_a_script_that_prints_stays_another_way() -> None:
    text = GOES_ON.replace(
        "area = integrate(w * x, w)", "area = integrate(w * x, w)\nprint(area)  # 7*w, wrong"
    )
    assert len(read(text, form="report").scripts) == 2


def test_a_call_with_an_arrow_is_code_and_its_value() -> None:
    text = (
        "# cross\n\nfor instance\ntorch.cumsum(torch.ones(2), 0)\n-> tensor([1., 3.])\n\nThat's not right.\n"
    )
    reading = read(text, form="report")
    assert reading.claim.checks[0].lines == ("tensor([1., 3.])",)
    assert "torch.cumsum(torch.ones(2), 0)" in reading.scripts[0].script


def test_a_copy_to_people_is_no_product_of_matrices() -> None:
    text = "# hangs\n\n### Versions\n\nimport time\nfor at in range(3):\n    print(at)\n\ncc @one @two\n"
    assert "cc" not in read(text, form="report").scripts[0].script


@pytest.mark.parametrize(
    "words", ["pypinyin 版本：0.49.0", "pypinyin version: 0.49.0", "pypinyin версия 0.49.0"]
)
def test_a_package_that_has_a_version_is_imported(words: str) -> None:
    text = f"# wrong\n\n* {words}\n\n```\n>>> pypinyin.pinyin('x')\n[['y']]\n```\n"
    assert read(text, form="report").scripts[0].script.startswith("import pypinyin; ")


def test_short_words_of_another_script_tell_the_output_of_a_script() -> None:
    text = "# 数据不对\n\n```\nprint(f'放假? {1 > 2}')\n```\n\n打印的是\n```\n放假? True\n```\n"
    assert read(text, form="report").claim.checks[0].lines == ("放假? True",)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("the example does not work", 'I run this and get "tuple index out of range"'),
        ("onehotencoder example does not work", 'It says "tuple index out of range".'),
    ],
)
def test_a_quoted_error_is_tied_to_the_script_that_was_run(title: str, words: str) -> None:
    code = "from sklearn.preprocessing import OneHotEncoder\nOneHotEncoder().fit([[0, 1], [1, 0]])"
    (check,) = read(f"# {title}\n\n```\n{code}\n```\n\n{words}\n", form="report").claim.having(Role.BUG)
    assert (check.kind, check.message, check.loose) == (
        CheckKind.EXCEPTION,
        "tuple index out of range",
        False,
    )


def test_words_between_two_pieces_of_code_are_no_output() -> None:
    text = (
        "# markup\n\nTurning it off by `Console.print` does not work as told when printing `Table`\n\n"
        "```\nfrom rich.console import Console\nConsole().print(1)\n```\n"
    )
    assert not read(text, form="report").claim.checks


def test_var_of_sympy_defines_names_and_names_of_one_package_are_imported() -> None:
    code = "var('x')\nintegrate(exp(I*x)*log(x), x)"
    text = f"# Invalid NaN comparison\n\n```\n{code}\n```\nthrows TypeError: bad.\n"
    reading = read(text, form="report")
    assert not reading.ask
    assert reading.scripts[0].script.startswith("from sympy import I, exp, integrate, log, var; var('x')")


def test_names_of_several_packages_are_not_imported() -> None:
    text = "# wrong\n\n```\nx = zeros(3)\nprint(exp(x) + log(x) + sin(x))\n```\nIt prints 3.\n"
    script = read(text, form="report").scripts[0].script
    assert "zeros," not in script
    assert "numpy" not in script


def test_a_session_with_the_expected_behaviour_is_the_control() -> None:
    session = ">>> import torch\n>>> torch.rand(10)[10]\n"
    text = (
        f"# Bad index crashes\n\nFrom conda (this is unexpected):\n```\n{session}Segmentation fault\n"
        f"```\n\nFrom pip (this is the expected behavior):\n```\n{session}IndexError: bad\n>>> exit()\n```\n"
    )
    assert [script.role for script in read(text, form="report").scripts] == [
        ScriptRole.MAIN,
        ScriptRole.CONTROL,
    ]


def test_a_method_needs_the_package_that_it_imports_when_it_is_called() -> None:
    code = "import xarray as xr\nx = xr.DataArray([1.0, 2.0], dims='x')\nprint(x.interp(x=[0.5]))"
    text = f"# interp\n\n```\n{code}\n```\n"
    needs = {need.name for need in read(text, form="report").scripts[0].needs}
    assert {"xarray", "scipy"} <= needs


@pytest.mark.parametrize(
    "words",
    ["ends in TypeError: Bad NaN comparison.", "It dies with TypeError: bad", "raises TypeError: bad"],
)
def test_a_sentence_that_ends_in_an_error_is_no_output(words: str) -> None:
    code = "import numpy as np\nnp.sum([1], axis=2)"
    claim = read(f"# sum fails\n\n```\n{code}\n```\n{words}\n", form="report").claim
    assert [(check.kind, check.exception_type) for check in claim.having(Role.BUG)] == [
        (CheckKind.EXCEPTION, "TypeError")
    ]


def test_a_call_with_a_keyword_is_no_expected_output() -> None:
    text = (
        "# markup\n\n```\nfrom rich.console import Console\nConsole().print('[/]', markup=False)\n```\n\n"
        "### Actual\n\nIt raises `rich.errors.MarkupError: closing tag`\n\n"
        "### Expected\n\nAccording to the docs, `print(markup=False)` is meant for that.\n"
    )
    assert not read(text, form="report").claim.having(Role.EXPECTED)


# The next ones come from short reports of each kind that someone wrote who had not seen the code.

DIVMOD = "print(*divmod(-17, 5))"
WRAP = "import numpy as np\nprint(np.uint8(200) + 100)"


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("The output is -4 -3.", "-4 -3"),
        ("The result was (-4, -3).", "(-4, -3)"),
        ("The answer is now [-4, -3], which is not right.", "[-4, -3]"),
        ("It prints -4 -3.", "-4 -3"),
        ("The value is None.", "None"),
    ],
)
def test_a_sentence_names_all_that_is_printed(sentence: str, line: str) -> None:
    claim = read(f"# divmod\n\n```python\n{DIVMOD}\n```\n\n{sentence}\n").claim
    assert [check.lines for check in claim.having(Role.BUG)] == [(line,)]


@pytest.mark.parametrize("sentence", ["The output is 4 lines.", "The result is two numbers."])
def test_a_count_is_no_output(sentence: str) -> None:
    assert not read(f"# divmod\n\n```python\n{DIVMOD}\n```\n\n{sentence}\n").claim.checks


@pytest.mark.parametrize(
    "sentence",
    [
        "NumPy 1.26 is fine, there I get 300.",
        "numpy 1.26 works and gives 300.",
        "I get 300 with NumPy 1.26, as it should be.",
    ],
)
def test_the_value_of_a_version_that_is_praised_is_not_the_bug(sentence: str) -> None:
    claim = read(f"# It wraps\n\n{sentence}\n\n```python\n{WRAP}\n```\n\n```\n44\n```\n").claim
    assert [check.lines for check in claim.having(Role.BUG)] == [("44",)]
    assert not claim.further


def test_one_line_below_the_heading_for_what_is_expected_is_the_right_value() -> None:
    claim = read(
        "### What happened?\n\nThe sum is wrong, it prints 5.\n\n### What did you expect to happen?\n\n7\n\n"
        "### Example\n\n```python\nprint(sum([1, 2, 4]))\n```\n"
    ).claim
    assert [check.number for check in claim.having(Role.BUG)] == ["5"]
    assert [check.lines for check in claim.having(Role.EXPECTED)] == [("7",)]


@pytest.mark.parametrize(("block", "bugs"), [("str", [("str",)]), ("pip install x", []), ("a\nb", [])])
def test_a_word_right_below_the_code_that_prints_one_is_its_output(
    block: str, bugs: list[tuple[str]]
) -> None:
    text = f"# The type changed\n\n```python\nprint(type(len))\n```\n\n```\n{block}\n```\n"
    assert [check.lines for check in read(text).claim.having(Role.BUG)] == bugs


@pytest.mark.parametrize(
    ("comment", "bug"),
    [
        ("numpy 1.26: True, numpy 2.x: False", "False"),
        ("2.1 -> 5, 1.9 -> 4", "5"),
        ("in 1.9 prints [1], in 2.0 prints [2]", "[2]"),
    ],
)
def test_a_comment_gives_the_value_of_each_version(comment: str, bug: str) -> None:
    claim = read(
        f"# It changed\n\n```python\nimport numpy as np\nprint(np.size(3))  # {comment}\n```\n"
    ).claim
    assert [check.lines for check in claim.having(Role.BUG)] == [(bug,)]


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("np.testing.assert_allclose(a, b)", "AssertionError"),
        ("if a.sum() != b.sum():\n    raise ValueError('no')", "ValueError"),
        ("def check():\n    assert a is b\n\ncheck()", "AssertionError"),
    ],
)
def test_the_check_at_the_end_of_a_script_is_its_claim(end: str, error: str) -> None:
    code = f"import numpy as np\na = np.ones(3)\nb = np.ones(3)\nprint(a)\n{end}"
    claim = read(f"# The rows are added twice\n\nThey are not.\n\n```python\n{code}\n```\n").claim
    assert [check.exception_type for check in claim.having(Role.BUG)] == [error]


NAMELESS = "import networkx as nx\np = nx.shortest_path(nx.path_graph(2), 0, 5)"


@pytest.mark.parametrize(
    ("shown", "error"),
    [
        ("Exception: bad thing", ("Exception", "bad thing")),
        ("NodeNotFound: Target 5 is not in G", ("NodeNotFound", "Target 5 is not in G")),
        ("NetworkXNoPath: No path.", ("NetworkXNoPath", "No path.")),
    ],
)
def test_an_error_whose_name_does_not_say_so(shown: str, error: tuple[str, str]) -> None:
    head = 'Traceback (most recent call last):\n  File "x.py", line 2, in <module>\n'
    claim = read(f"# It raises\n\n```python\n{NAMELESS}\n```\n\n```\n{head}{shown}\n```\n").claim
    assert [(each.exception_type, each.message) for each in claim.having(Role.BUG)] == [error]


def test_the_head_of_a_notebooks_traceback_ends_the_code_above_it() -> None:
    head = f"{'-' * 75}\nNetworkXNoPath{' ' * 28}Traceback (most recent call last)"
    reading = read(
        f"It blows up:\n\n```\n{NAMELESS}\n{head}\nCell In[7], line 2\n\nNetworkXNoPath: No path.\n```\n"
    )
    assert reading.scripts[0].script.rstrip().endswith("0, 5)")
    assert [each.exception_type for each in reading.claim.having(Role.BUG)] == ["NetworkXNoPath"]


def test_a_label_that_a_script_prints_is_no_output_beside_a_call() -> None:
    code = (
        "import torch\na = torch.ones(2)\nb = a.clone()\na.add_(1)  # eager\nb.mul_(2)  # compiled\n"
        'print("compiled", b)\nprint("eager", a)\nassert torch.equal(a, b)'
    )
    claim = read(f"# They differ\n\n```python\n{code}\n```\n\nThe assert fails.\n").claim
    (bug,) = claim.having(Role.BUG)
    assert (bug.exception_type, bug.at, bug.loose) == ("AssertionError", 8, False)


def test_an_output_that_can_be_parsed_is_no_code() -> None:
    code = "import numpy as np\nprint('one\\n')\nprint(np.ones(1), np.ones(1))\nprint(np.full(2, np.inf))"
    shown = "one\n\ntensor([1.]) [1.]\ntensor([inf, inf,\n        inf])"
    reading = read(f"# It overflows\n\n```python\n{code}\n```\n\nI see\n\n```\n{shown}\n```\n")
    assert len(reading.scripts) == 1
    assert reading.claim.having(Role.BUG)[0].lines[:2] == ("one", "tensor([1.]) [1.]")


@pytest.mark.parametrize(
    ("code", "added"),
    [
        ("print(datetime.date(2020, 1, 1) - datetime.timedelta(3))", "import datetime"),
        ("print(datetime(2020, 1, 1))", "from datetime import datetime"),
        ("print(datetime.datetime.now().year)", "import datetime"),
        ("print(datetime.now().year)", "from datetime import datetime"),
    ],
)
def test_the_module_and_the_class_of_one_name(code: str, added: str) -> None:
    reading = read(f"# It is wrong\n\n```python\n{code}\n```\n\nIt prints 3.\n")
    assert reading.scripts[0].script.startswith(f"{added}; print")


def test_a_package_of_the_traceback_may_be_imported_by_its_name() -> None:
    shown = (
        'Traceback (most recent call last):\n  File "check.py", line 2, in <module>\n    pysbd.Segmenter()\n'
        '  File ".../site-packages/pysbd/segmenter.py", line 87, in segment\n    pass\nValueError: bad\n'
    )
    text = f"# It raises\n\n```python\npysbd.Segmenter()\n```\n\n```\n{shown}```\n"
    assert read(text).scripts[0].script.startswith("import pysbd; ")


def test_the_function_that_was_interrupted_is_looked_for_in_the_stacks() -> None:
    shown = (
        'Traceback (most recent call last):\n  File "check.py", line 2, in <module>\n    pysbd.Segmenter()\n'
        '  File ".../site-packages/pysbd/processor.py", line 87, in replace_all_periods\n    pass\n'
        '  File ".../lib/python3.7/re.py", line 192, in sub\n    pass\nKeyboardInterrupt\n'
    )
    text = f"# It hangs\n\n```python\npysbd.Segmenter()\n```\n\n```\n{shown}```\n"
    (bug,) = read(text).claim.having(Role.BUG)
    assert (bug.kind, bug.message) == (CheckKind.HANG, "in replace_all_periods")


@pytest.mark.parametrize(
    "words",
    ["As soon as I use Python 3.14", "Once we switch to Python 3.14", "Whenever I upgrade to Python 3.14"],
)
def test_the_version_that_somebody_begins_to_use_is_the_place(words: str) -> None:
    text = (
        f"# It is gone\n\nAll works on Python 3.11. {words} the interpreter dies with a segfault.\n\n"
        "```python\nprint(sorted(range(12))[:3])\n```\n\n```\nSegmentation fault (core dumped)\n```\n"
    )
    (bug,) = read(text).claim.having(Role.BUG)
    assert (bug.kind, bug.where.version) == (CheckKind.CRASH, "python >=3.14")


@pytest.mark.parametrize("words", ["fwiw with", "Btw, with", "FYI: with"])
def test_an_error_with_a_setting_on_top_is_another_condition(words: str) -> None:
    text = (
        "# NaN\n\n```python\nimport jax\nprint(jax.numpy.sqrt(-1.0))  # nan\n```\n\n"
        f'{words} `jax.config.update("jax_debug_nans", True)` on top it stops with\n\n'
        "```\nFloatingPointError: invalid value (nan) encountered in sqrt\n```\n"
    )
    claim = read(text).claim
    assert [check.lines for check in claim.having(Role.BUG)] == [("nan",)]
