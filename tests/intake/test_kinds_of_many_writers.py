"""Kinds that cost verdicts on reports of many writers: terse ones, long ones, and those of weak English."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, Claim, Role
from app.intake.reading import Reading


def report(code: str, below: str, *, title: str = "It is wrong") -> Reading:
    return read(f"# {title}\n\n```python\n{code}\n```\n\n{below}\n", form="report")


def bug_of(reading: Reading) -> Check:
    (bug,) = reading.claim.having(Role.BUG)
    return bug


def lines_of_claim(claim: Claim, role: Role = Role.BUG) -> list[str]:
    return [line for check in claim.having(role) for line in check.lines or (check.number or "",)]


def lines_of(reading: Reading, role: Role = Role.BUG) -> list[str]:
    return lines_of_claim(reading.claim, role)


HALVES = "import numpy as np\nprint(np.float16(300) * np.float16(300))"
WARNED = (
    "```\nhalf.py:2: RuntimeWarning: overflow encountered in scalar multiply\n"
    "  print(np.float16(300) * np.float16(300))\n65500.0\n```"
)


@pytest.mark.parametrize(
    "words",
    [
        "I do not mind the warning. The number should be inf.",
        "The RuntimeWarning is justified; 65500.0 isn't, it should be inf.",
        "(Never mind the warning.) I expect inf.",
        "That it warns is right of course. But the value has to be inf.",
        "The warning itself is not the problem, the value is: inf is correct.",
        "I can live with the warning, but inf is what I expect.",
        "Warning aside, it should print inf.",
    ],
)
@pytest.mark.parametrize("title", ["float16 saturates, with a warning", "float16 is wrong"])
def test_a_warning_that_is_called_fine_is_no_claim(words: str, title: str) -> None:
    claim = report(HALVES, f"{WARNED}\n\n{words}", title=title).claim
    bugs = [bug for each in (claim, *claim.further) for bug in each.having(Role.BUG)]
    assert [bug.lines for bug in bugs] == [("65500.0",)]
    assert not any(check.exception_type for check in claim.checks)


@pytest.mark.parametrize(
    "words",
    [
        "The warning is not fine.",
        "I do not mind the warning, but it comes twice for each call.",
        "The value is right, why is there a warning?",
        "Is the warning OK?",
        "The warning can be ignored, it is only annoying.",
        "I don't think that the warning is right here.",
        "The UserWarning is fine, this one should not come.",
        "Ignoring the warning does not help, it is not wanted.",
    ],
)
def test_a_warning_that_is_not_called_fine_stays(words: str) -> None:
    reading = report(HALVES, f"{WARNED}\n\n{words}", title="float16 gives a RuntimeWarning")
    assert bug_of(reading).exception_type == "RuntimeWarning"


def test_only_the_named_warning_is_fine() -> None:
    shown = "```\nt.py:1: FutureWarning: it will go\nt.py:2: UserWarning: it is lossy\n```"
    reading = report(HALVES, f"{shown}\n\nThe FutureWarning is OK.", title="It gives a warning")
    assert bug_of(reading).exception_type == "UserWarning"


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: cannot pickle <class 'module'> objects",
        "AttributeError: <module 'queue'> has no attribute close",
        "ValueError: <function f at 0x7f12ab34cd56> is no valid argument",
        "TypeError: <lambda>() takes 1 argument",
        "KeyError: <Shade.RED: 3>",
        "TypeError: boolean value of <NA> is ambiguous",
        "RuntimeError: <collections.deque object at 0x7f12ab34cd56> mutated",
    ],
)
def test_what_python_prints_in_angle_brackets_stays_in_a_message(error: str) -> None:
    name, _, message = error.partition(": ")
    text = f"# It fails\n\n## Code\n\nimport copy\nprint(copy.copy(3))\n\n## Result\n\n{error}\n"
    bug = bug_of(read(text, form="report"))
    assert (bug.exception_type, bug.message) == (name, message)


@pytest.mark.parametrize(
    "tag", ["<details open>", "<br/>", "<p class='x'>", "<your version here>", "<object data=x>"]
)
def test_other_tags_are_removed(tag: str) -> None:
    text = f"# It fails\n\n{tag}\n\n```python\nprint(int('a'))\n```\n\nIt prints {tag}`3`.\n"
    assert lines_of(read(text, form="report")) == ["3"]


SERIES = 'import pandas as pd\ns = pd.Series([4, None], dtype="Int64")\nprint(s.prod(skipna=False))  # 4'
ERROR = "```\nValueError: cannot convert NA\n```"


@pytest.mark.parametrize(
    "words",
    [
        'I have also tried `s.astype("int32").prod(skipna=False)`, which stops in',
        "Another attempt was `s.to_numpy(int).prod()`, and it ended so:",
        "My first idea, to go around it by `s.view(int).prod()`, fails with",
        "I played with `np.prod(s.to_list())` as well. It says:",
        "As a workaround, I tried `s.convert_dtypes().prod()`. Result:",
        "An attempt to work around it, `s.astype(float).astype(int).prod()`, gives",
    ],
)
def test_an_error_of_an_attempt_with_other_code_is_another_condition(words: str) -> None:
    claim = report(SERIES, f"It should print `<NA>`.\n\n{words}\n\n{ERROR}\n\nSo that is no help.").claim
    assert [bug.lines for bug in claim.having(Role.BUG)] == [("4",)]
    others = [bug for each in claim.further for bug in each.having(Role.BUG)]
    assert [bug.where.mode for bug in others] in ([], ["other code"])


@pytest.mark.parametrize(
    "words",
    [
        "I tried it with `python -X dev bug.py`:",
        "I tried `s.prod(skipna=False)` and got",
        "Is there an idea how to get around this:",
        "Each attempt to run it ends in",
        "I tried `pd` of two machines, always the same:",
    ],
)
def test_an_error_of_an_attempt_with_the_script_is_the_claim(words: str) -> None:
    code = 'import pandas as pd\ns = pd.Series([4, None], dtype="Int64")\nprint(s.prod(skipna=False))'
    bug = bug_of(report(code, f"{words}\n\n{ERROR}"))
    assert (bug.exception_type, bug.where.mode) == ("ValueError", None)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("I obtain 3 -5.", "3 -5"),
        ("We obtained 3 -5 here.", "3 -5"),
        ("What I obtain is 3 -5.", "3 -5"),
        ("Now I receive 3 -5 instead.", "3 -5"),
        ("In Fortran I obtain -3 5. Here I obtain 3 -5.", "3 -5"),
        ("With Julia I see -3 5. But this gives 3 -5.", "3 -5"),
        ("I obtain 3 -5. In R I obtain -3 5, which I hold for correct.", "3 -5"),
        ("The script obtains 3 -5 and I take -3 5 for right.", "3 -5"),
        ("I obtain `3 -5`, Excel has `-3 5`.", "3 -5"),
    ],
)
def test_numbers_that_somebody_obtains_are_the_claim(words: str, line: str) -> None:
    claim = report("import math\nprint(*f(-7, 2))", words).claim
    assert [bug.lines for bug in claim.having(Role.BUG)] == [(line,)]


@pytest.mark.parametrize(
    "words",
    [
        "I obtain 3 -5. In Fortran I obtain -3 5, which I hold for correct.",
        "I obtain 3 -5. The pair -3 5 is what I take for right.",
        "I receive 3 -5, and -3 5 I consider to be correct.",
        "I get 3 -5. In Octave we see -3 5.",
        "I get 3 -5. Using C, I have -3 5.",
    ],
)
def test_numbers_that_are_held_for_correct_are_right(words: str) -> None:
    claim = report("import math\nprint(*f(-7, 2))", words).claim
    assert {"-3 5", "-3 5."} & {*claim.right_values, *lines_of_claim(claim, Role.EXPECTED)}
    assert "3 -5" not in claim.right_values


@pytest.mark.parametrize(
    "words",
    [
        "I obtain 3 5 times the value.",
        "I obtained 3 rows.",
        "In Fortran I obtain 3 -5.",
        "I would obtain 3 -5 with a float.",
        "To obtain 3 -5 I have to pass a float.",
    ],
)
def test_other_things_that_somebody_obtains_are_no_claim(words: str) -> None:
    assert not report("import math\nprint(*f(-7, 2))", words).claim.having(Role.BUG)


TWO_CALLS = "print(f(1, 'low'))  # 2.0\nprint(f(1, 'mid'))  # 2.0"


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("The second one ignores the mode; 3.0 is halfway between 2 and 4.", "3.0"),
        ("The second line does not know its mode. Midway between 1.5 and 4 is 2.75.", "2.75"),
        ("2.5 would be the mean of 1 and 4.", "2.5"),
        ("The last one is lazy (the average of 2 and 6 is 4).", "4"),
        ("Both say the same, though 3.5 is exactly in the middle of 3 and 4.", "3.5"),
        ("The product of 3 and 4 is 12.", "12"),
        ("7, the sum of 3 and 4, is what I looked for.", "7"),
    ],
)
def test_what_anybody_can_reckon_is_right(words: str, right: str) -> None:
    claim = report(TWO_CALLS, words).claim
    assert lines_of_claim(claim) == ["2.0", "2.0"]
    assert claim.right_values == (right,)


@pytest.mark.parametrize(
    "words",
    [
        "5.0 is halfway between 2 and 4, it says.",
        "3.0 is not the mean of 2 and 4 here.",
        "Wrong: 3.0 is halfway between 2 and 4.",
        "The mean of 2 and 4 is printed as 2.0.",
        "3.0 is between 2 and 4.",
    ],
)
def test_what_nobody_reckons_so_is_not(words: str) -> None:
    assert report(TWO_CALLS, words).claim.right_values == ()


@pytest.mark.parametrize(
    "words",
    [
        "The second one is wrong, it should be 3.0.",
        "The last one must be 3.0.",
        "The second should print 3.0.",
    ],
)
def test_one_of_two_equal_lines_is_wrong(words: str) -> None:
    claim = report(TWO_CALLS, words).claim
    assert [lines_of_claim(claim, role) for role in (Role.BUG, Role.EXPECTED)] == [
        ["2.0", "2.0"],
        ["2.0", "3.0"],
    ]


def session_below(words: str) -> Claim:
    shown = ">>> from lib import scale\n>>> scale([2.0])\narray([[1.]])"
    return read(f"# scale is off\n\n{words}\n\n```python\n{shown}\n```\n", form="report").claim


@pytest.mark.parametrize(
    "words",
    [
        "lib 1.2.2 was fine: there I had `array([[0.5]])`. Since 1.5 it lands at the upper end:",
        "Version 1.2 was OK, it printed `array([[0.5]])`. Now:",
        "With 1.2 all was good (I had `array([[0.5]])`). With 1.5:",
        "lib 1.2 worked, there it was `array([[0.5]])`. In 1.5 I see:",
        "1.2.2 is fine; there we get `array([[0.5]])`. 1.5.0 is not:",
        "In 1.2.2 I had `array([[0.5]])`. Since 1.5 it is too large:",
        "It used to be `array([[0.5]])` in 1.2. Since the upgrade to 1.5:",
        "Until 1.4 it answered `array([[0.5]])`. 1.5 answers:",
        "On the laptop with 1.2 we see `array([[0.5]])`, which is right; on the server with 1.5:",
    ],
)
def test_the_value_of_an_older_version_is_right_beside_a_session(words: str) -> None:
    claim = session_below(words)
    assert lines_of_claim(claim) == ["array([[1.]])"]
    assert {*claim.right_values, *lines_of_claim(claim, Role.EXPECTED)} >= {"array([[0.5]])"}
    assert all(check.where.version in {None, "1.5", ">=1.5"} for check in claim.checks)


@pytest.mark.parametrize(
    "words",
    [
        "In 1.2 it gave `array([[0.5]])`, which is wrong, too. In 1.5:",
        "In 1.2 I had `array([[0.5]])` as the input. In 1.5:",
        "In 1.6 it gives `array([[0.5]])`. In 1.5:",
        "In 1.2 it should give `array([[0.5]])`, I thought. In 1.5:",
        "1.2 gave `array([[0.5]])`, 1.3 gave `array([[0.6]])`. In 1.5:",
        "It is fixed in 1.5. In 1.2 it gave `array([[0.5]])`. Here:",
    ],
)
def test_the_value_of_another_version_is_not_right_by_itself(words: str) -> None:
    claim = session_below(words)
    assert "array([[0.5]])" not in lines_of_claim(claim, Role.EXPECTED)


def test_a_short_sentence_below_words_about_an_older_version_is_about_the_session() -> None:
    assert lines_of_claim(session_below("Under lib 1.2 everything was right. But with 1.5:")) == [
        "array([[1.]])"
    ]
    assert not lines_of_claim(session_below("lib 1.5 is broken, I see nonsense. All is fine with 1.2:"))


DTYPE = 'import pandas as pd\nprint(pd.Series(["a", "b"]).dtype)'


@pytest.mark.parametrize(
    "caption",
    [
        "now tells me",
        "now reports",
        "has become",
        "comes back as",
        "what I see now is",
        "Today's answer:",
        "It is now",
        "now replies with",
        "turns out to be",
        "Then it told us:",
    ],
)
def test_a_word_below_a_caption_that_tells_is_output(caption: str) -> None:
    assert lines_of(report(DTYPE, f"{caption}\n\n```\nstr\n```")) == ["str"]


@pytest.mark.parametrize(
    "caption", ["I was told:", "The manual tells:", "The file is", "I run it in", "Thanks to"]
)
def test_a_word_below_another_caption_is_no_output(caption: str) -> None:
    below = f"tells me\n\n```\nstr\n```\n\nFurther words about it.\n\n{caption}\n\n```\nobject\n```"
    assert [check.lines for check in report(DTYPE, below).claim.checks] == [("str",)]


@pytest.mark.parametrize(
    "caption",
    [
        "where it had told me",
        "It used to give",
        "Previously it printed",
        "It should tell me",
        "It has to report",
        "instead of",
    ],
)
def test_what_it_told_before_or_should_tell_is_right(caption: str) -> None:
    reading = report(DTYPE, f"now tells me\n\n```\nstr\n```\n\n{caption}\n\n```\nobject\n```")
    assert [lines_of(reading, role) for role in (Role.BUG, Role.EXPECTED)] == [["str"], ["object"]]


@pytest.mark.parametrize(
    "words",
    [
        "It began with pandas 3.0; nothing else (pip 24.0, torch 2.1.2) changed.",
        "This started in pandas 3.0, Python stayed 3.12.4.",
        "The failure appeared with pandas 3.0 on Debian 12.5.",
    ],
)
def test_the_version_with_which_it_began_is_the_place(words: str) -> None:
    (bug,) = report(DTYPE, f"It prints `str`. {words}").claim.having(Role.BUG)
    assert (bug.where.package, bug.where.version) == ("pandas", ">=3.0")
