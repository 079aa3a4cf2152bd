"""Code that lacks what everybody knows: names of objects, modules of packages, fences, and later cells."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.reading import Reading, ScriptRole


def report(code: str, *, below: str = "", title: str = "It is not right") -> Reading:
    return read(f"# {title}\n\n```python\n{code}\n```\n\n{below}\n")


def script_of(reading: Reading) -> str:
    return reading.scripts[0].script


def bug_of(reading: Reading) -> Check:
    return reading.claim.having(Role.BUG)[0]


def asks_of(reading: Reading) -> list[str]:
    return [each.code for each in reading.ask]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("print((3 * ureg.meter).to('mile'))", "import pint; ureg = pint.UnitRegistry()"),
        ("print(Q_(3, ureg.meter))", "ureg = pint.UnitRegistry(); Q_ = ureg.Quantity"),
        ("@jit(nopython=True)\ndef f(x):\n    return x + 1\nprint(f(3))", "from numba import jit"),
        ("f = jit(abs, static_argnums=0)\nprint(f(3))", "from jax import jit"),
        ("print(pyarrow.compute.sum(pyarrow.array([1, 2])))", "import pyarrow; import pyarrow.compute"),
        ("print(sklearn.metrics.r2_score([1, 2], [1, 2]))", "import sklearn; import sklearn.metrics"),
    ],
)
def test_what_everybody_binds_alike_is_filled_in(code: str, line: str) -> None:
    reading = report(code, below="prints `4`, but it should print `5`")
    assert line in script_of(reading)
    assert asks_of(reading) == []
    assert any(line in repair.detail for repair in reading.scripts[0].repairs)


def test_a_console_is_one_of_rich_only_if_rich_is_named() -> None:
    code = "console.print('a')"
    assert "from rich.console import Console" in script_of(report(code, title="rich 13.1 prints nothing"))
    assert asks_of(report(code)) == ["undefined_name"]


@pytest.mark.parametrize(
    "code", ["f = jit(abs)\nprint(f(3))", "f = jit(abs, nopython=True, static_argnums=0)"]
)
def test_a_name_of_two_libraries_is_asked_for(code: str) -> None:
    assert asks_of(report(code)) == ["undefined_name"]


def test_unknowns_of_a_lone_formula_are_symbols() -> None:
    script = script_of(report("integrate(sin(b*x) + theta, x)", below="gives `0`, which is wrong"))
    assert "b, theta = symbols('b theta')" in script


def test_a_block_that_goes_on_gets_no_symbols_of_its_own() -> None:
    first = (
        "from sympy import *\na, u = symbols('a u', real=True)\nf = u**2 * (a - u)\nprint(integrate(f, u))"
    )
    reading = report(
        first, below="Then\n\n```python\nintegrate(f.subs(a, 2), u)\nintegrate(f, u).subs(a, 2)\n```"
    )
    assert all("symbols('a u')" not in each.script for each in reading.scripts)


@pytest.mark.parametrize(
    "text",
    [
        "```import math\nprint(math.floor(-0.5))\n```\nprints `0`, but it should be `-1`",
        "```\nimport math\nprint(math.floor(-0.5))```\nprints `0`, but it should be `-1`",
        "```import math\nprint(math.floor(-0.5))```\nprints `0`, but it should be `-1`",
    ],
)
def test_a_fence_beside_code_opens_and_closes_a_block(text: str) -> None:
    reading = read(f"# floor is wrong\n\n{text}\n")
    assert script_of(reading) == "import math\nprint(math.floor(-0.5))\n"
    assert bug_of(reading).lines == ("0",) or bug_of(reading).number == "0"


@pytest.mark.parametrize(
    "text",
    [
        # Words beside a fence are its language, and backticks in a line are no fence.
        "```python title=a.py\nprint(1)\n```\nprints `1`",
        "```py\nprint('a```')\n```\nprints ``a``",
    ],
)
def test_other_words_beside_a_fence_stay(text: str) -> None:
    assert script_of(read(f"# wrong\n\n{text}\n")) == text.split("\n")[1] + "\n"


def test_cells_of_one_session_are_one_script_and_show_one_output() -> None:
    text = (
        "# The last step is wrong\n\nIn [1]:\n\n```python\nimport math\nprint(math.__doc__ is None)\n```\n\n"
        "    False\n\nIn [2]:\n\n```python\nrates = [math.sqrt(step) for step in range(3)]\n```\n\n"
        "![png](a.png)\n\n(the curve goes up)\n\nIn [3]:\n\n"
        "```python\nprint('Last rate:', rates[-1])\n```\n\n"
        "    <Figure size 640x480 with 1 Axes>\n    Last rate: 2.5\n\n"
        "So it is at step `last_rate-1`. "
        'The docs say "should be called once", and that is `total_steps * 2`.\n'
    )
    reading = read(text)
    assert [each.role for each in reading.scripts] == [ScriptRole.MAIN]
    assert "print('Last rate:', rates[-1])" in script_of(reading)
    assert any("Last rate: 2.5" in each.lines for each in reading.claim.checks)
    claimed = [line for each in reading.claim.checks for line in each.lines]
    assert not any("Figure" in line or "_" in line or "called" in line for line in claimed)


TEST = (
    "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_sum(n):\n    assert sum([n, n]) == 3\n"
)


@pytest.mark.parametrize(
    ("summary", "error", "message"),
    [
        ("FAILED test_a.py::test_sum[1] - assert 2 == 3\n2 failed in 0.2s", "AssertionError", ""),
        (
            "ERROR tests/test_a.py::test_sum[1] - ValueError: too few values\n1 error in 0.2s",
            "ValueError",
            "too few values",
        ),
        (
            "FAILED test_a.py::TestA::test_sum - lib.errors.ShapeError: bad shap...",
            "ShapeError",
            "bad shap",
        ),
    ],
)
def test_the_summary_of_pytest_names_the_error(summary: str, error: str, message: str) -> None:
    reading = report(TEST, below=f"```\n$ pytest -q test_a.py\nFF   [100%]\n...\n{summary}\n```")
    bug = bug_of(reading)
    assert (bug.kind, bug.exception_type, bug.message) == (CheckKind.EXCEPTION, error, message)


def test_pytest_does_not_start_itself_again() -> None:
    script = script_of(report(TEST, below="```\nFAILED test_a.py::test_sum[1] - assert 2 == 3\n```"))
    assert script.endswith(
        "if __name__ == '__main__':\n    import pytest\n\n"
        "    raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', __file__]))\n"
    )


def test_a_program_with_the_tag_of_a_shell_is_a_program() -> None:
    reading = read(
        "# wrong\n\n```sh\nimport math\nprint(math.floor(-0.5)) # 0\n```\n\nIt has to print `-1`.\n"
    )
    assert script_of(reading) == "import math\nprint(math.floor(-0.5)) # 0\n"
    assert read("# wrong\n\n```text\nimport of a.csv failed\nfrom here on\n```\n").scripts == ()


def test_statements_of_python_2_in_prose_are_a_script() -> None:
    reading = read(
        '# problem\n\nMy code:\n\nx=Symbol("x",real=True)\n'
        "print integrate(1/(1+x**2),x)  # incorrect result: 0\n\n"
        "I use sympy 0.7.5\n"
    )
    assert "print(integrate(1/(1+x**2),x))" in script_of(reading)
    assert bug_of(reading).lines == ("0",)


CALLED = (
    "```python\ndef f():\n    print('free:', 3)\n```\n\nI call it\n\n```python\n>>> f()\nfree: 3\n```\n\n"
)


def test_a_session_calls_the_functions_of_the_script() -> None:
    reading = read(f"# memory is lost\n\n{CALLED}A second time\n\n```python\n>>> f()\nfree: 2\n```\nwrong\n")
    assert script_of(reading).count("displayhook(f())") == 2
    once = read(f"# memory is lost\n\n{CALLED}With 1.2 I see\n\n```python\n>>> f()\nfree: 2\n```\n")
    assert script_of(once).count("displayhook(f())") == 1


def test_two_signs_are_a_prompt() -> None:
    session = ">> import math\n>> x = -0.5\n>> math.floor(x)\n0\n"
    reading = read(f"# floor is wrong\n\n```\n{session}```\n")
    assert script_of(reading).startswith("import math\nx = -0.5\n")
    assert bug_of(reading).lines == ("0",)
    quoted = "```\n>> he said\n>> that it works\nno\n```\n"
    assert read(f"# floor is wrong\n\n{quoted}").scripts == ()


def test_words_on_the_docs_above_an_example_of_ones_own_quote_nothing() -> None:
    text = "I did not expect it from the documentation. Here is my example:\n\n```\n>>> abs(-1)\n-1\n```\n"
    assert bug_of(read(f"# abs is wrong\n\n{text}")).lines == ("-1",)
    text = "The documentation has this example:\n\n```\n>>> abs(-1)\n-1\n```\n"
    assert read(f"# abs is wrong\n\n{text}").claim.having(Role.BUG) == ()


def test_bold_values_of_both_outputs_are_told_apart() -> None:
    reading = report(
        "print('Index:', [1])", below="Actual output: **Index: [1]**\nExpected output: **Index: [0]**"
    )
    assert bug_of(reading).lines == ("Index: [1]",)
    assert any("[0]" in line for each in reading.claim.having(Role.EXPECTED) for line in each.lines)


def test_one_value_is_not_the_bug_and_right() -> None:
    below = "What comes back is an array that has but one value, [0]. That is not what I get from numpy."
    reading = report("print(np.arange(0.0, 2.0, 0.2))", below=below)
    assert not any(check.number == "0" for check in reading.claim.having(Role.BUG))
