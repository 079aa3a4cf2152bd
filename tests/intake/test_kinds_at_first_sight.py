"""Kinds of reports that were judged wrongly at first sight of a second set of kinds, in other words."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.reading import Reading, ScriptRole


def report(code: str, *, above: str = "", below: str = "", title: str = "It is not right") -> Reading:
    return read(f"# {title}\n\n{above}\n\n```python\n{code}\n```\n\n{below}\n")


def bug_of(reading: Reading) -> Check:
    return reading.claim.having(Role.BUG)[0]


def lines_of(reading: Reading, role: Role = Role.BUG) -> list[str]:
    return [line for check in reading.claim.having(role) for line in check.lines]


PRINT = "import numpy as np\nprint(np.ones(3).sum())"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("Resultado obtido", "Resultado esperado"),
        ("Résultat obtenu", "Résultat attendu"),
        ("Tatsächliche Ausgabe", "Erwartete Ausgabe"),
        ("Salida real", "Salida esperada"),
        ("Actual output", "Expected output"),
    ],
)
def test_captions_of_both_sides(seen: str, expected: str) -> None:
    reading = report(PRINT, below=f"{seen}\n\n[4, 2]\n\n{expected}\n\n[3, 2]")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["[4, 2]"], ["[3, 2]"])


def test_a_dtype_alone_is_a_printed_line() -> None:
    reading = report(PRINT, below="#### Expected Results\n\nfloat64\n\n#### Actual Results\n\nfloat32")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["float32"], ["float64"])


@pytest.mark.parametrize("comment", ["torch.int32", "int32", "should be int64, is int32"])
def test_a_dtype_in_a_comment(comment: str) -> None:
    reading = report(f"import torch\nprint(torch.ones(2).dtype)  # {comment}")
    assert lines_of(reading) == [comment.rpartition(" ")[2]]


@pytest.mark.parametrize(
    "comment", ["should be True, is False", "must be True, but it prints False", "expected True, got False"]
)
def test_the_right_value_may_stand_first(comment: str) -> None:
    reading = report(f"import numpy as np\na = np.ones(2)\na[0] < 1.5  # {comment}")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["False"], ["True"])


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("I see 7.5 -2.0 4.0 on the screen.", "7.5 -2.0 4.0"),
        ("It prints 7.5 -2.0, where I'd want 2.0 7.5.", "7.5 -2.0"),
    ],
)
def test_a_row_of_numbers_is_one_line(words: str, row: str) -> None:
    assert lines_of(report(PRINT, below=words))[:1] == [row]


def test_a_count_is_no_row() -> None:
    assert bug_of(report(PRINT, below="I see 3 and then 4 rows, it prints 5.")).lines == ()


def test_a_quotation_below_the_script_is_its_output() -> None:
    code = 'n = 3\nprint(f"lost rows: {n} of {n}")'
    assert lines_of(report(code, below="> lost rows: 3 of 9")) == ["lost rows: 3 of 9"]
    # Words of a person stay words.
    assert not report(code, below="> I lost some rows there").claim.checks


@pytest.mark.parametrize("above", ["The docs promise an argument, but:", "The manual has it, yet here"])
def test_a_failure_below_a_word_of_the_documentation(above: str) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "a.py", line 2, in <module>\nTypeError: no such argument'
    )
    reading = report(f"import numpy as np\nprint(np.ones(3, kind=1))\n\n{trace}", above=above)
    assert bug_of(reading).exception_type == "TypeError"


def test_what_the_documentation_shows_is_no_claim() -> None:
    reading = report(PRINT, below="The documentation shows\n\n```\n7.0\n```")
    assert not reading.claim.checks


def test_a_sentence_above_the_output_in_its_block() -> None:
    reading = report(PRINT, below="### Error message\n\n```\nNo error, the script gives:\n4.0\n```")
    assert lines_of(reading) == ["4.0"]
    own = report('print("it gives:")\nprint(4.0)', below="Output:\n\n```\nit gives:\n4.0\n```")
    assert lines_of(own) == ["it gives:", "4.0"]


def test_an_error_that_is_asked_for_is_no_second_reading() -> None:
    text = "That makes no sense and should be refused with a ValueError, yet a number is returned."
    reading = report(PRINT, above=text, below="Output:\n\n```\n4.0\n```")
    assert lines_of(reading) == ["4.0"]
    assert all(other.checks[0].kind is not CheckKind.EXCEPTION for other in reading.claim.further)


@pytest.mark.parametrize(("good", "bad"), [("Shell 1, fine:", "Shell 2, broken:"), ("1) OK", "2) not OK")])
def test_a_session_that_is_called_fine_is_the_control(good: str, bad: str) -> None:
    text = f"{good}\n\n```pycon\n>>> len('ab')\n2\n```\n\n{bad}\n\n```pycon\n>>> len('abc')\n2\n```\n"
    reading = read(f"# len is wrong\n\n{text}")
    roles = {script.role: script.script for script in reading.scripts}
    assert "abc" in roles[ScriptRole.MAIN]
    assert "'ab'" in roles[ScriptRole.CONTROL]


@pytest.mark.parametrize(
    "above",
    [
        "With Python 3.13 it works. With Python 3.14 the interpreter dies:",
        "Con Python 3.13 va perfecto. Con Python 3.14 el intérprete muere:",
        "Python 3.13 is fine. Python 3.14 crashes.",
    ],
)
def test_two_sentences_about_two_versions(above: str) -> None:
    reading = report("print(1)", above=above, below="```\nSegmentation fault (core dumped)\n```")
    assert bug_of(reading).where.version == "python 3.14"


def test_the_last_sentence_above_a_block_is_about_it() -> None:
    reading = report(PRINT, below="numpy 1.26 is fine. Since numpy 2.0 I get garbage:\n\n```\n4.5\n```")
    assert lines_of(reading) == ["4.5"]


@pytest.mark.parametrize(
    "words",
    [
        'Schreibe ich statt dessen `x[0] = "a"`, dann kommt ein Fehler:',
        "Had I written `x[0] = None` instead:",
    ],
)
def test_a_statement_in_place_of_the_one_of_the_script(words: str) -> None:
    code = "import numpy as np\nx = np.ones(2)\nx[0] = 2\nprint(x)  # [2. 2.]"
    reading = report(code, below=f"{words}\n\n```\nValueError: could not convert\n```")
    assert lines_of(reading) == ["[2. 2.]"]


def test_an_operator_is_no_value() -> None:
    text = "The dicts inside of `attrs` are compared by `==`, and that can't work. It prints `4.0`."
    assert lines_of(report(PRINT, below=text)) == ["4.0"]


def test_a_title_about_warnings_claims_the_warnings() -> None:
    shown = "```\n<stdin>:1: RuntimeWarning: overflow encountered in sum\n3.0\n```"
    reading = report(PRINT, below=shown, title="sum gives a needless RuntimeWarning")
    assert (bug_of(reading).exception_type, reading.claim.further) == ("RuntimeWarning", ())
    other = report(PRINT, below=shown, title="sum is too large")
    assert lines_of(other) == ["3.0"]


def test_outputs_of_two_releases() -> None:
    reading = report(PRINT, below="v1:\n```\n[3, 3]\n```\n\nv2:\n```\n[3, 4]\n```")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["[3, 4]"], ["[3, 3]"])


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("print(regex.findall('a', 'aa'))  # ['a']", "import regex"),
        ("print(json.dumps([1]))  # [2]", "import json"),
        ("class A(BaseModel):\n    day: date\n\nprint(A(day='2024-02-03'))", "from datetime import date"),
    ],
)
def test_a_known_module_lacks_only_its_import(code: str, line: str) -> None:
    reading = report(code, title="pydantic: a wrong date")
    assert [question.code for question in reading.ask] == []
    assert line in reading.scripts[0].script


def test_sessions_below_labels_in_brackets() -> None:
    text = "```\n[python 3.11]\n>>> f(2)\n3\n\n[python 3.12]\n>>> f(2)\n4\n```"
    reading = read(f"# f is not the same any more\n\n{text}\n")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["4"], ["3"])
    assert bug_of(reading).where.version == "python >=3.12"


def test_the_assertion_at_the_end_is_the_claim_where_nothing_else_is() -> None:
    code = "import numpy as np\nfor step in range(3):\n    x = np.ones(step)\n    assert (x == 1).all(), step"
    check = bug_of(report(code, above="Once in a while a wrong element comes."))
    assert (check.kind, check.exception_type, check.at) == (CheckKind.EXCEPTION, "AssertionError", 4)
    # What the report says goes first, and a test of the machine is no claim.
    assert lines_of(report(code, below="It prints `[2. 1.]`.")) == ["[2. 1.]"]
    machine = "import torch\nprint(torch.ones(2))\nassert torch.cuda.is_available()"
    assert not report(machine, above="Once in a while a wrong element comes.").claim.checks
    middle = f"{code}\nprint(x)"
    assert not report(middle, above="Once in a while a wrong element comes.").claim.checks


@pytest.mark.parametrize(
    "words",
    [
        "On the CPU it takes 150 rounds, on CUDA it takes far more.",
        "Mostly within 150 rounds on CPU (on CUDA it needs more).",
    ],
)
def test_how_long_it_takes_on_each_is_no_difference(words: str) -> None:
    assert not report(PRINT, below=words).claim.checks


def test_values_that_differ_are() -> None:
    words = "On the CPU it prints 3.0, on CUDA it prints 4.0 and takes longer."
    assert bug_of(report(PRINT, below=words)).kind is CheckKind.DIFFERS


@pytest.mark.parametrize(
    "items", ["- MPS: `[1, 2]`\n- CPU: `[1, 3]` (right)", "cpu: [1, 3]\nmps (M2): [1, 2]"]
)
def test_a_list_of_values_of_devices(items: str) -> None:
    reading = report("import torch\nprint(torch.ones(2))", below=items)
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["[1, 2]"], ["[1, 3]"])
    assert bug_of(reading).where.device == "mps"


@pytest.mark.parametrize(("operator", "name"), [("@", "matmul"), ("/", "divide"), ("*", "multiply")])
def test_the_name_of_an_operator_ties_a_warning_to_the_script(operator: str, name: str) -> None:
    shown = f"```\n<stdin>:1: RuntimeWarning: overflow encountered in {name}\n[3. 3.]\n```"
    code = f"import numpy as np\nprint(np.ones((2, 2)) {operator} np.ones(2))"
    assert not bug_of(report(code, below=shown, title="A warning that nobody needs")).loose
    other = "import numpy as np\nprint(np.ones(2) + np.ones(2))"
    assert bug_of(report(other, below=shown, title="A warning that nobody needs")).loose


def test_code_without_a_fence_above_code_that_prints_versions() -> None:
    text = (
        "# The rows are sorted wrongly\n\n#### Steps/Code to Reproduce\n\nimport numpy as np\n\n"
        "a = np.array([2, 1])\nprint(np.sort(a))\n\n> [2 1]\n\nprint(np.sort(a, kind='stable'))\n\n"
        "#### Versions\n\n>>> import sys; print('Python', sys.version)\nPython 3.9.1\n"
    )
    reading = read(text, form="report")
    assert reading.scripts[0].script.count("np.sort") == 2
    assert "sys.version" not in reading.scripts[0].script
    assert lines_of(reading) == ["[2 1]"]


@pytest.mark.parametrize(
    ("words", "system"),
    [
        ("Linux x86_64: OK. macOS 15 (arm64): dies.", "macos"),
        ("Linux: works. Windows 11: I get a crash.", "windows"),
    ],
)
def test_systems_with_a_word_each(words: str, system: str) -> None:
    reading = report("print(1)", above=words, below="```\nAborted (core dumped)\n```")
    assert bug_of(reading).where.os == system


def test_everything_from_a_version_on() -> None:
    words = "numpy 1.10 was fine, everything from 1.11 on gives me a nine."
    reading = report(PRINT, above=words, below="Output:\n\n```\n9.0\n```")
    assert bug_of(reading).where.version == ">=1.11"
    words = "numpy 1.10 was fine, 1.11 gives me a nine."
    exact = report(PRINT, above=words, below="Output:\n\n```\n9.0\n```")
    assert bug_of(exact).where.version == "1.11"


def test_a_list_of_installed_packages_is_no_output() -> None:
    below = "It prints `4`.\n\n```\nnumpy==1.26.4\ntzdata==2023.4\nodd-one==0.1\n```"
    reading = report(PRINT, below=below)
    others = [check for other in reading.claim.further for check in other.checks]
    assert (lines_of(reading), others) == (["4"], [])


@pytest.mark.parametrize(
    "words",
    [
        "Affiche `4`, alors que `3` est attendu.",
        "Es druckt `4`, während `3` erwartet wird.",
        "Imprime `4`, mientras que `3` es lo esperado.",
    ],
)
def test_while_another_value_is_expected(words: str) -> None:
    reading = report(PRINT, below=words)
    assert lines_of(reading) == ["4"]
    assert "3" in reading.claim.right_values


def test_a_message_of_the_scripts_own_assertion_has_its_place() -> None:
    code = 'a, b = 1, 2\nprint(a)\nassert a == b, f"left {a} is not right {b}"\nassert a == a, "never"'
    shown = "```\nAssertionError: left 3 is not right 4\n```"
    assert bug_of(report(code, below=shown)).at == 3
    other = "```\nAssertionError: right 3 is not left 4\n```"
    assert bug_of(report(code, below=other)).at is None


def test_the_failure_of_a_test_as_pytest_shows_it() -> None:
    code = "def test_half():\n    assert round(0.5) == 1"
    shown = (
        "```\n    def test_half():\n>       assert round(0.5) == 1\nE       assert 0 == 1\n"
        "E        +  where 0 = round(0.5)\n\ntest_a.py:2: AssertionError\n```"
    )
    check = bug_of(report(code, below=shown))
    assert (check.kind, check.exception_type, check.message) == (CheckKind.EXCEPTION, "AssertionError", "")


def test_a_word_below_says_is_output() -> None:
    code = 'print(type("a").__name__)'
    assert lines_of(report(code, below="says\n\n```\nstr\n```")) == ["str"]


def test_what_somebody_else_saw_is_no_output_below_a_title_about_outputs() -> None:
    reading = report(
        PRINT, below="Somebody else reported: `Segmentation fault (core dumped)`", title="odd output"
    )
    assert not reading.claim.checks


@pytest.mark.parametrize(
    "words",
    ["I found this assertion in the tests.", "The memory of each call is never freed.", "Very slow here."],
)
def test_words_about_other_matters_are_no_claim_that_an_assertion_fails(words: str) -> None:
    code = "import numpy as np\nassert np.ones(1) == 1"
    assert report(code, above="Odd.").claim.checks
    assert not report(code, above=words).claim.checks
