"""Claims by the kind of their words: labelled values, values in words, formulas, missing errors,"
" frequency."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.words.frequency_words import says_sometimes

SCRIPT = "```python\nimport torch\nprint(torch.ones(2).sum())\n```\n\n"
TRACEBACK = (
    '```\nTraceback (most recent call last):\n  File "a.py", line 32, in <module>\n    print(queue.get())\n'
    "ConnectionResetError: [Errno 104] Connection reset by peer\n```\n"
)
RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"


def _claim(text: str) -> Claim:
    return read(text, form="report").claim


def _shown(check: Check) -> str:
    if check.kind is CheckKind.EXCEPTION:
        return f"{check.exception_type}: {check.message or ''}".rstrip()
    if check.kind is CheckKind.NO_ERROR:
        return f"no error {check.exception_type or ''}".rstrip()
    return check.number or "|".join(check.lines) or str(check.kind)


def _first(claim: Claim) -> tuple[list[str], list[str]]:
    bugs, right = claim.having(Role.BUG), claim.having(Role.EXPECTED)
    return [_shown(check) for check in bugs], [_shown(check) for check in right]


@pytest.mark.parametrize(
    ("comments", "wrong", "right"),
    [
        (
            "# Expected `{'c': {'b': 'Bar'}}`\n# Actual `{'c': {'a': 'Foo'}}`",
            "{'c': {'a': 'Foo'}}",
            "{'c': {'b': 'Bar'}}",
        ),
        ("# Expected: {'b': 1}\n# Got: {'a': 1}", "{'a': 1}", "{'b': 1}"),
        ("# got {'a': 1}\n# want {'b': 1}", "{'a': 1}", "{'b': 1}"),
        ("# Actual output: [1, 2]\n# Expected output: [2, 1]", "[1, 2]", "[2, 1]"),
        ("# prints: 5\n# should print: 6", "5", "6"),
        ("# erwartet: 6\n# tatsächlich: 5", "5", "6"),
        ("# attendu : 6\n# obtenu : 5", "5", "6"),
        ("# actual: True, expected: False", "True", "False"),
        ("# expected 'abc', got 'abz'", "abz", "abc"),
        ("# returns 5 but should return 6", "5", "6"),
        ("# 期望: 6\n# 实际: 5", "5", "6"),
        ("# Output: Foo(a=1)\n# Expected: Foo(a=2)", "Foo(a=1)", "Foo(a=2)"),
        ("# Expected:\n#   [1,\n#    2]\n# Got:\n#   [2,\n#    1]", "[2,|1]", "[1,|2]"),
    ],
)
def test_comments_that_label_both_values(comments: str, wrong: str, right: str) -> None:
    code = "from pydantic import BaseModel\n\nprint(BaseModel().dump())\n"
    assert _first(_claim(f"# dump\n\n```python\n{code}{comments}\n```\n")) == ([wrong], [right])


@pytest.mark.parametrize(
    "comments",
    [
        "# the output is what I expected",
        "# expected to work, got confused",
        "# Expected: 5\n# Expected: 6\n# Got: 7",
        "# result of the call, output of the model",
    ],
)
def test_comments_that_label_no_pair(comments: str) -> None:
    code = "from pydantic import BaseModel\n\nprint(BaseModel().dump())\n"
    assert _first(_claim(f"# dump\n\n```python\n{code}{comments}\n```\n"))[1] == []


EYE = (
    "```python\nimport torch\nprint(torch.eye(3))\n```\n\nOutput:\n```\ntensor([[1., 0., 0.],\n"
    "        [0., 0., 0.],\n        [0., 0., 0.]])\n```\n\n"
)
IDENTITY = "tensor([[1., 0., 0.],|[0., 1., 0.],|[0., 0., 1.]])"
ZEROS = "tensor([[0., 0., 0.],|[0., 0., 0.],|[0., 0., 0.]])"


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("I expected the identity.", IDENTITY),
        ("It should be the identity matrix.", IDENTITY),
        ("I'd have thought that the identity comes out.", IDENTITY),
        ("Erwartet hätte ich die Einheitsmatrix.", IDENTITY),
        ("Expected: the identity matrix", IDENTITY),
        ("J'attendais la matrice identité.", IDENTITY),
        ("It should be all zeros.", ZEROS),
        ("I expect a tensor of zeros.", ZEROS),
        ("Every entry should be zero.", ZEROS),
        ("Es sollten lauter Nullen sein.", ZEROS),
        ("I expected the identity or a matrix full of ones. It should be all ones.", None),
        ("It should not be the identity.", None),
        ("I expect one of the libraries to say so.", None),
    ],
)
def test_an_array_in_words(words: str, right: str | None) -> None:
    assert _first(_claim(f"# eye\n\n{EYE}{words}\n"))[1] == ([right] if right else [])


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("I expected an empty list.", "[]"),
        ("Expected behavior: it returns an empty list", "[]"),
        ("Should have been an empty list, I think.", "[]"),
        ("Se esperaba una lista vacía.", "[]"),
        ("I would expect zero.", "0"),
        ("It should return one.", "1"),
        ("It should be minus infinity.", "-inf"),
        ("It should be one of the classes.", None),
    ],
)
def test_a_value_in_words(words: str, right: str | None) -> None:
    code = "```python\nimport numpy as np\nprint(list(np.ones(0)))\n```\n\n"
    text = f"# list\n\n{code}It prints `[nan]`.\n\n{words}\n"
    assert _first(_claim(text)) == (["[nan]"], [right] if right else [])


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        ("Output is 0, but that is not right: it is -e/2.", "0", "-E/2"),
        ("The output is 0. The right answer is pi/4.", "0", "pi/4"),
        ("This returns 0, it should be sqrt(2)/2.", "0", "sqrt(2)/2"),
        ("It gives `0` instead of `-E/2`.", "0", "-E/2"),
        ("I get 0 where the correct value is exp(-1).", "0", "exp(-1)"),
        ("Es kommt 0 heraus, richtig wäre pi**2/6.", "0", "pi**2/6"),
        ("Result: 0\n\nCorrect result: x**2/2", "0", "x**2/2"),
        ("Gives oo. Expected: log(2)", "oo", "log(2)"),
    ],
)
def test_a_formula_is_one_value(words: str, wrong: str, right: str) -> None:
    code = "```python\nfrom sympy import *\nx = Symbol('x')\nprint(limit(sin(x)/x, x, 0))\n```\n\n"
    assert _first(_claim(f"# wrong limit\n\n{code}{words}\n")) == ([wrong], [right])


@pytest.mark.parametrize(
    "words", ["It prints 0. The right answer is pi/4.", "It prints 0, it should be 1/2."]
)
def test_a_part_of_a_formula_is_no_value(words: str) -> None:
    assert _first(_claim(f"# sum\n\n{SCRIPT}{words}\n"))[1] == []


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("It silently accepts the wrong shape. It should raise a ValueError.", "no error ValueError"),
        (
            "No error is raised, although the shapes don't match. I expected a `ValueError`.",
            "no error ValueError",
        ),
        ("Expected behavior\n\nValueError\n\nActual behavior\n\nNo error", "no error ValueError"),
        ("**Expected behavior**\nRaise an exception.\n\n**Actual behavior**\nNothing happens.", "no error"),
        ("The call accepts a negative size without a word. An error would be right.", "no error"),
        ("It should be rejected, but it passes.", "no error"),
        ("Es kommt kein Fehler, erwartet hätte ich einen ValueError.", "no error ValueError"),
        ("Aucune erreur n'est levée alors qu'on attend une ValueError.", "no error ValueError"),
        ("This should have raised a TypeError.", "no error TypeError"),
        ("I'd expect an error here, but the code runs through.", "no error"),
    ],
)
def test_an_error_is_missing(words: str, wrong: str) -> None:
    assert _first(_claim(f"# shapes are not checked\n\n{SCRIPT}{words}\n"))[0] == [wrong]


@pytest.mark.parametrize(
    "words",
    [
        "It should not raise an error. I expect no error here.",
        "If the shapes differ I would expect an error.",
        "It raises a TypeError. It should raise a ValueError.",
        "I expect the script to run without errors.",
    ],
)
def test_no_error_is_missing(words: str) -> None:
    assert "no error" not in " ".join(_first(_claim(f"# shapes\n\n{SCRIPT}{words}\n"))[0])


@pytest.mark.parametrize(
    ("section", "wrong", "right"),
    [
        (f"`put` is ok but then queue.get() gives an error\n\n{TRACEBACK}", RESET, []),
        (f"The script should run. Now it fails:\n\n{TRACEBACK}", RESET, []),
        ("I get this, which is wrong:\n\n```\ntensor(3.)\n```\n", "tensor(3.)", []),
        (
            "```\ntensor(2.)\n```\n\n## Actual behavior\n\n```\ntensor(3.)\n```\n",
            "tensor(3.)",
            ["tensor(2.)"],
        ),
    ],
)
def test_a_form_filled_in_the_wrong_way_round(section: str, wrong: str, right: list[str]) -> None:
    assert _first(_claim(f"# get\n\n{SCRIPT}## Expected behavior\n\n{section}")) == ([wrong], right)


@pytest.mark.parametrize(
    "words",
    [
        "About one run in ten fails like this.",
        "It happens intermittently.",
        "Sometimes it works, sometimes it doesn't.",
        "The result is non-deterministic.",
        "Roughly 1 in 5 runs shows it.",
        "It fails in 3 of 10 runs.",
        "Most of the time it is fine.",
        "Out of 20 runs, 4 fail.",
        "Etwa jeder zehnte Lauf scheitert.",
        "Une fois sur dix environ.",
        "Now and then it passes.",
        "and when I start it again it may well pass.",
        "Fails sporadically.",
        "The test is flaky.",
        "偶尔会失败。",
        "Falla una de cada diez veces.",
        "It takes about ten runs until it happens.",
        "It doesn't happen on every run.",
    ],
)
def test_words_of_frequency_anywhere(words: str) -> None:
    assert says_sometimes(_claim(f"# get fails\n\n{SCRIPT}{TRACEBACK}\n{words}\n").text)


@pytest.mark.parametrize(
    "words",
    [
        "We sometimes use this function.",
        "The test is not flaky.",
        "Random numbers are drawn with seed 5.",
        "I sometimes see people do this.",
        "This is deterministic, each run fails.",
        "It never passes.",
        "Our users occasionally need it.",
        "1 in 5 users has this.",
    ],
)
def test_words_that_are_not_about_the_runs(words: str) -> None:
    assert not says_sometimes(_claim(f"# get fails\n\n{SCRIPT}{TRACEBACK}\n{words}\n").text)
