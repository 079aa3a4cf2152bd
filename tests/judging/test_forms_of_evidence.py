"""Reports whose evidence has an unusual form, with what a mended and an unmended library give."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, claim, result, several
from judging_builders import script as a_script

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.read import read
from app.judging.gone.oracles import stands_alone
from app.judging.judgement import Verdict
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS

NOT_REPRODUCED, REPRODUCED = Verdict.NOT_REPRODUCED, Verdict.REPRODUCED


def verdict(report: str, stdout: str, **seen: Any) -> Verdict | None:
    reading = read(report, limits=NO_READ_LIMITS, form="report")
    assert not reading.ask
    return judge_job(reading.claim, reading.scripts[0], CPU, several(3, stdout, **seen)).verdict


ASSERTS = """# It is object now

```python
import numpy as np
a = np.array([1])
assert a.dtype == 'object'{}
```

"""
FAILED = {"raised": ("AssertionError", "")}


@pytest.mark.parametrize(
    ("comment", "prose"),
    [
        ("", "I'd like that `assert a.dtype == 'int64'` goes through."),
        ("", "`assert a.dtype == 'int64'` should hold."),
        ("", "## Expected\n\nI expect `assert a.dtype != 'object'`."),
        ("", "The assertion passes, but it should not."),
        ("", "Richtig wäre `assert a.dtype == 'int64'`, so sollte es sein."),
        ("  # passes, but should fail", "Look."),
        ("  # holds, should not", "Schau."),
    ],
)
def test_an_assertion_of_what_is_wrong(comment: str, prose: str) -> None:
    report = ASSERTS.format(comment) + prose
    assert verdict(report, "", **FAILED) is NOT_REPRODUCED
    assert verdict(report, "") is REPRODUCED


@pytest.mark.parametrize(
    "prose",
    [
        "I found `assert a.dtype == 'int64'` in the tests.",
        "`assert a.shape == (1,)` should hold as well.",
        "The second assertion is fine.",
    ],
)
def test_an_assertion_that_nobody_calls_wrong_is_no_claim(prose: str) -> None:
    assert verdict(ASSERTS.format("") + prose, "", **FAILED) not in {NOT_REPRODUCED, REPRODUCED}
    assert verdict(ASSERTS.format("") + prose, "") not in {NOT_REPRODUCED, REPRODUCED}


RAISES = """# misleading message

```python
import io
a = io.StringIO("1,20")
{comment}
b = float(a.read())
```
"""
MESSAGE = "could not convert string to float: '1,20'"


@pytest.mark.parametrize(
    "comment",
    [
        f"# ValueError: {MESSAGE}",
        f"# this raises ValueError: {MESSAGE}",
        f"# I get ValueError: {MESSAGE}\n# it should be ValueError: bad value '1.234'",
        f"# NICHT in Ordnung!\n# es kommt:  ValueError: {MESSAGE}\n# es sollte kommen: ValueError: '1.234'",
        f"# wirft ValueError: {MESSAGE}",
        f"# 报错: ValueError: {MESSAGE}",
        f"# lève ValueError: {MESSAGE}",
    ],
)
def test_an_error_in_a_comment_above_its_statement(comment: str) -> None:
    report = RAISES.format(comment=comment)
    assert verdict(report, "", raised=("ValueError", MESSAGE)) is REPRODUCED
    assert verdict(report, "", raised=("TypeError", "a float is no file")) is not REPRODUCED


@pytest.mark.parametrize(
    "comment",
    [
        "# used to raise ValueError: bad",
        "# raises ValueError if it is empty",
        "# works, no ValueError: bad",
        "# should raise ValueError: bad",
        "# früher kam ValueError: bad",
        "# in Ordnung, hier stimmt die Meldung: ValueError: bad",
        "# in 1.2 it raised ValueError: bad",
    ],
)
def test_an_error_that_is_not_raised_here(comment: str) -> None:
    report = RAISES.format(comment=comment)
    assert verdict(report, "", raised=("ValueError", "bad")) is not REPRODUCED
    assert verdict(report, "1\n") is not NOT_REPRODUCED


ANSWERS = """# wrong for some

It gives

```
k = 1, {0} True, {1} True
k = 2, {0} False, {1} True
```

```python
for k in (1, 2):
    print(f"k = {{k}}, {0} {{k == 1}}, {1} {{k > 0}}")
```
"""


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("is correct?", "behavior mimicked?"),
        ("equal:", "as in the old code:"),
        ("allclose =", "like mine ="),
        ("results match:", "wrong formula fits:"),
        ("ist richtig?", "alter Fehler?"),
    ],
)
def test_all_answers_to_what_is_right_are_true_now(right: str, other: str) -> None:
    report = ANSWERS.format(right, other)
    now = f"k = 1, {right} True, {other} True\nk = 2, {right} True, {other} False\n"
    assert verdict(report, now) is NOT_REPRODUCED
    assert verdict(report, now.replace("k = 2, " + right + " True", "k = 2, " + right + " False")) is not (
        NOT_REPRODUCED
    )
    assert verdict(report, now.partition("\n")[0] + "\n") is not NOT_REPRODUCED
    swapped = f"k = 1, {right} False, {other} True\nk = 2, {right} True, {other} True\n"
    assert verdict(report, swapped) is not NOT_REPRODUCED


PRODUCT = (
    "```python\nimport math\nprint(math.prod([5] * 13))\n```\n\n{output}\n\n```\n-87\n```\n\n{sentence}\n"
)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("Output:", "By hand it should be 1220703125, and a loop says 1220703125 too."),
        ("Output:", "My calculator says that the right answer is 1220703125."),
        ("It prints", "With a pencil I find out that the value must be 1220703125."),
        ("输出:", "用计算器一个一个乘下来应该是 1220703125。"),
        ("Ausgabe:", "Mit dem Taschenrechner nachgerechnet müsste es 1220703125 sein."),
    ],
)
def test_the_right_value_stands_anywhere_in_a_sentence(output: str, sentence: str) -> None:
    report = PRODUCT.format(output=output, sentence=sentence)
    assert verdict(report, "1220703125\n") is NOT_REPRODUCED
    assert verdict(report, "-87\n") is REPRODUCED
    assert verdict(report, "12\n") is Verdict.DIFFERENT
    assert verdict(report, "12\n1220703125\n") is not NOT_REPRODUCED


TABLE = (
    "```python\nimport pandas as pd\nprint(pd.DataFrame([1., 2.]))\n```\n\n"
    "```\n     0\n0  1.5\n1  0.0\n```\n\n"
)


@pytest.mark.parametrize(
    "sentence",
    [
        "out.iloc[1,0] should be 0.551, anyone can see it.",
        "The value in row 1 should be 0.551.",
        "I think that `out[1]` must be 0.551.",
        "Zeile 1 müsste 0.551 sein.",
        "第1行应该是 0.551。",
    ],
)
def test_one_row_of_a_table(sentence: str) -> None:
    report = TABLE + sentence
    assert verdict(report, "          0\n0  1.500000\n1  0.550910\n") is NOT_REPRODUCED
    assert verdict(report, "          0\n0  0.550910\n1  0.000000\n") is not NOT_REPRODUCED
    assert verdict(report, "     0\n0  1.5\n1  0.0\n") is REPRODUCED


BY_VERSION = """# not compatible

```python
import enum
print(enum.Flag.__name__)
print(int("x"))
```

Python 3.10.6 prints:

```
True
Traceback (most recent call last):
...
ValueError: 42 is not valid
```

And Python 3.11.2:

```
False
2
```
"""


def test_an_output_of_an_older_version_that_ends_with_an_error() -> None:
    here = {"environment": {"python.version": "3.11.7"}}
    now = {"raised": ("ValueError", "invalid value 42: given 0b1"), **here}
    assert verdict(BY_VERSION, "True\n", **now) is NOT_REPRODUCED
    assert verdict(BY_VERSION, "False\n", **now) is not NOT_REPRODUCED
    assert verdict(BY_VERSION, "True\n", raised=("KeyError", "42"), **here) is not NOT_REPRODUCED
    assert verdict(BY_VERSION, "False\n2\n", **here) is REPRODUCED


WORDS = (
    "```python\nx = 1382\nprint({})\n```\n\nOn my machine:\n\n`the value with a race is 1382`\n\n"
    "It should be 0.\n"
)


@pytest.mark.parametrize(
    "code",
    [
        '"the value with a race is %s" % x',
        'f"the value with a race is {x}"',
        '"the value with a race is {}".format(x)',
        '"the value with a race is", x',
        "'the value with a race is ' + str(x)",
    ],
)
def test_words_that_the_script_prints_are_output(code: str) -> None:
    assert verdict(WORDS.format(code), "the value with a race is 1382\n") is REPRODUCED
    assert verdict(WORDS.format(code), "the value with a race is 0\n") is NOT_REPRODUCED


TRACEBACK = """# second derivative

{sentence}

```python
In [1]: import math

In [2]: math.sqrt(4)
Out[2]: 2.0

In [3]: math.sqrt(-1)
---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
<ipython-input-3> in <module>
----> 1 math.sqrt(-1)

ValueError: math domain error
```
"""


@pytest.mark.parametrize(
    "sentence",
    [
        "First order is fine, the second derivative is not.",
        "The first call works, the other one does not.",
        "It works for 4 and for -1 it doesn't.",
        "4 passes, while -1 does not.",
        "Die erste Zeile funktioniert, die zweite geht nicht.",
    ],
)
def test_praise_of_one_thing_beside_a_failure(sentence: str) -> None:
    report = TRACEBACK.format(sentence=sentence)
    assert verdict(report, "2.0\n", raised=("ValueError", "math domain error")) is REPRODUCED


def test_a_message_of_another_error_holds_no_value() -> None:
    value = Check(text="it is nan", kind=CheckKind.VALUE, number="nan")
    seen = {
        "stderr": "Traceback (most recent call last):\nValueError: found:\ntensor([1., nan])\n",
        "raised": ("ValueError", "found invalid values:\ntensor([1., nan])"),
    }
    assert judge_job(claim(value), a_script(), CPU, several(3, "", **seen)).verdict is not REPRODUCED
    assertion = {**seen, "raised": ("AssertionError", "tensor([1., nan])")}
    assert judge_job(claim(value), a_script(), CPU, several(3, "", **assertion)).verdict is REPRODUCED


def test_right_values_of_several_forms_are_compared() -> None:
    expected = Check(text="", kind=CheckKind.OUTPUT, role=Role.EXPECTED, lines=("1 2 3", "4 5"))
    assert not stands_alone(expected, ["4 5", "4 6"])
    assert result("x").outcome.is_evidence


SESSION = """```python
>>> import numpy as np
>>> a = np.ones(3)
>>> a.sum(), a.mean()
(4.0, 1.5)
>>> a.max()
2.0
```

"""


@pytest.mark.parametrize(
    ("sentence", "mended"),
    [
        ("a.max() should be 1.0.", "(4.0, 1.5)\n1.0\n"),
        ("I think that `a.max()` must be 1.0 here.", "(4.0, 1.5)\n1.0\n"),
        ("`a.max()` müsste `1.0` sein.", "(4.0, 1.5)\n1.0\n"),
        ("`a.max()` 应该是 `1.0`。", "(4.0, 1.5)\n1.0\n"),
        ("Only the first line is wrong, it should be (3.0, 1.0).", "(3.0, 1.0)\n2.0\n"),
    ],
)
def test_one_value_of_a_session(sentence: str, mended: str) -> None:
    assert verdict(SESSION + sentence, mended) is NOT_REPRODUCED
    assert verdict(SESSION + sentence, "(4.0, 1.5)\n2.0\n") is REPRODUCED
    assert verdict(SESSION + sentence, "(4.0, 1.5)\n7.0\n") is Verdict.DIFFERENT
    assert verdict(SESSION + sentence, "2.0\n2.0\n") is not NOT_REPRODUCED


@pytest.mark.parametrize(
    "sentence",
    [
        "All three print True, I expected False.",
        "All of them are True. Expected: False for each.",
        "Alle drei geben True aus, erwartet hätte ich False.",
        "三个都打印 True, 应该是 False。",
        "Expected all False, got all True.",
    ],
)
def test_a_sentence_about_all_answers(sentence: str) -> None:
    report = "```python\nfor n in range(3):\n    print(n < 3)\n```\n\n" + sentence
    assert verdict(report, "True\n" * 3) is REPRODUCED
    assert verdict(report, "False\n" * 3) is NOT_REPRODUCED
    assert verdict(report, "True\nFalse\nFalse\n") is not NOT_REPRODUCED


@pytest.mark.parametrize(
    ("kind", "message", "verdict"),
    [
        ("IndexError", "Dimension out of range", Verdict.REPRODUCED),
        ("ModuleNotFoundError", "No module named 'x'", Verdict.CANNOT_SHOW),
        ("NameError", "name 'x' is not defined", Verdict.CANNOT_SHOW),
        ("FileNotFoundError", "no such file: 'a.csv'", Verdict.CANNOT_SHOW),
        ("AttributeError", "module 'torch' has no attribute 'x'", Verdict.CANNOT_SHOW),
    ],
)
def test_any_error_is_not_one_about_what_is_missing_here(kind: str, message: str, verdict: Verdict) -> None:
    check = Check(text="raises an error", kind=CheckKind.EXCEPTION, exception_type="Exception", message="")
    attempts = [result(raised=(kind, message), attempt=f"a{at}") for at in range(3)]
    judgement = judge_job(Claim(checks=(check,)), a_script("import torch\ntorch.x(5)\n"), CPU, attempts)
    assert judgement.verdict is verdict
