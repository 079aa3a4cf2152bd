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
