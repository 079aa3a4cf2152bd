"""Sentences that are easily read the wrong way round, or as output of a program."""

from __future__ import annotations

import pytest

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import CheckKind, Role
from app.intake.claim.known_messages import unnamed_error
from app.intake.read import read
from app.limits import NO_READ_LIMITS


@pytest.mark.parametrize(
    "text",
    [
        "prints 3, expected 4",
        "expected 4, got 3",
        "4 expected, 3 returned",
        "4 expected but got 3",
        "output should be 4 rather than 3",
        "it should print 4, not 3",
        "expected 4 instead of 3",
        "3 instead of 4",
        "Got: 3\nWant: 4",
        "Expected: 4\nActual: 3",
        "I get 3, the correct value is 4",
        "the answer is 3 where 4 was expected",
        "The script prints 3. It should print 4. Please help!",
        "the sum is 3 but it has to be 4",
        "it says 3 and I say it ought to be 4",
        "I get 3 here, but 4 is what the manual promises (`n` counts from one)",
        "what comes out is 3, it must be 4",
        "I get 3 where scipy says 4",
        "still prints 3, not 4",
        "it comes out as 3; 4 would be correct",
        "I get 3 where we'd expect 4",
        "I obtain: 3, exact is 4",
        "Instead of 4 I get 3.",
        "instead of the expected 4, the script prints 3",
        "I'm getting 3 but it should've been 4",
        "I use torch 2.1 on my laptop. The script prints 3. It should print 4.",
    ],
)
def test_what_is_seen_and_what_is_wanted(text: str) -> None:
    claim = read_claim(text)
    assert [(check.kind, check.role, check.number) for check in claim.checks] == [
        (CheckKind.VALUE, Role.BUG, "3"),
        (CheckKind.VALUE, Role.EXPECTED, "4"),
    ]


@pytest.mark.parametrize(
    ("text", "seen", "wanted"),
    [
        ("prints (1+2j) but (1-2j) is expected", "(1+2j)", "(1-2j)"),
        ("Output: `False`. Expected: `True`.", "False", "True"),
        ("It prints True; it should print False", "True", "False"),
        ("returns [1, 2] where [2, 1] is right", "[1, 2]", "[2, 1]"),
        ("The docs promise float64, but what comes out is torch.float32", "torch.float32", "float64"),
        ("it comes back as (3, 4), it ought to be (4, 3)", "(3, 4)", "(4, 3)"),
        ("We get `[0, 1]` where I'd assume `[1, 0]`.", "[0, 1]", "[1, 0]"),
    ],
)
def test_prints_that_are_no_numbers(text: str, seen: str, wanted: str) -> None:
    assert [(check.role, check.lines) for check in read_claim(text).checks] == [
        (Role.BUG, (seen,)),
        (Role.EXPECTED, (wanted,)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I get 2.0 and 0.0. Expected 3.0 and 1.0.",
        "I get 2.0 and 0.0, expected 3.0 and 1.0.",
        "It prints 2.0 and 0.0. I expected 3.0 and 1.0",
    ],
)
def test_several_numbers_are_read_together(text: str) -> None:
    assert [(check.role, check.lines) for check in read_claim(text).checks] == [
        (Role.BUG, ("2.0 0.0",)),
        (Role.EXPECTED, ("3.0 1.0",)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "eager prints 1.0, compiled prints 2.0",
        "compiled: 2.0 eager: 1.0",
        "in eager mode 1.0; compiled code gives 2.0",
    ],
)
def test_eager_and_compiled_are_sides(text: str) -> None:
    (check,) = read_claim(text).checks
    assert (check.kind, check.sides, check.side_lines) == (
        CheckKind.DIFFERS,
        ("eager", "compiled"),
        ("eager 1.0", "compiled 2.0"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "El resultado es nan (debería ser 0.0), gracias",
        "结果是 nan",
        "if the loss becomes nan, stop",
        "the gradients contain no NaN",
        # Expectations, the past, other software and counts are no values that are seen.
        "All three should print 0.3333.",
        "`x.min()` must give inf, but:",
        "Of 3, 4, 5, 6 the median should be 4.5",
        "according to the manual it returns 7",
        "it used to print 7",
        "It would give 7 if it worked",
        "What I want is 7, not 8",
        "The docs say 7, not 8",
        "numpy says 7 but torch says 8",
        "It prints 7 lines",
        "I got 7 different results",
        "I see 7 warnings",
        "gives 7% more",
        "returns 7-tuples",
        "a generator must give different numbers every time",
        "the size must be 7 but comes out as 8 later on",
        "I'd have thought it prints 7",
        "numpy returns 7 and torch returns 8",
        "with 2.1 it prints 7, with 2.2 it prints 8",
        "the accuracy drops from 0.7 to 0.5",
    ],
)
def test_what_is_said_is_not_taken_for_a_print(text: str) -> None:
    assert read_claim(text).checks == ()


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "i = 3",
        "a 1\r\nb 2  \r\n",
        "contains nan: True",
        "largest gap after 100 steps: 5.960e-08",
        "`nan`",
    ],
)
def test_what_is_printed_is_literal(text: str) -> None:
    (check,) = read_claim(text).checks
    assert check.kind is CheckKind.OUTPUT
    assert check.lines == tuple(line.strip().strip("`") for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("I get 0.5 every time I run it. A random function must give different numbers!", "0.5"),
        ("all I get is 0.5, which is wrong", "0.5"),
        ("it evaluates to 0.5 for me", "0.5"),
        ("Python 3.12. The script prints 0.5", "0.5"),
        ("type 3 and you get 0.5, expected 1.5", "0.5"),
        ("The error is 0.5 while it should be below 1e-6", "0.5"),
    ],
)
def test_what_is_seen_and_nothing_else_that_is_a_number(text: str, number: str) -> None:
    assert [check.number for check in read_claim(text).having(Role.BUG)] == [number]


def test_a_bound_is_no_value_that_is_wanted() -> None:
    assert [check.role for check in read_claim("the error is 0.5, it should be less than 1e-6").checks] == [
        Role.BUG
    ]


def test_a_version_at_the_end_of_a_sentence_is_no_value() -> None:
    assert read_claim("Python 3.12. Expected: `1.5` and `True`").checks == ()


def test_a_message_ends_with_its_quote() -> None:
    (check,) = read_claim("Calling it throws `ValueError: bad size 3` on my machine.").checks
    assert check.message == "bad size 3"


def test_devices_that_are_neither_cpu_nor_cuda() -> None:
    assert {check.where.device for check in read_claim("On MPS the output is 0.0, expected 1.0").checks} == {
        "mps"
    }
    assert {
        check.where.device for check in read_claim("On MPS and CPU the output is 0.0, expected 1.0").checks
    } == {None}


def test_a_place_is_taken_only_where_one_is_named() -> None:
    assert read_claim("the last value is 9, expected 8").checks[0].position == "last"
    assert read_claim("the first value is 1, the last value is 9, expected 8").checks[0].position is None


def test_numbers_of_other_kinds() -> None:
    assert read_claim("prints 0x1.999999999999ap-4").checks[0].number == "0x1.999999999999ap-4"
    assert read_claim("not reproducible between runs").checks[0].kind is CheckKind.VARIES


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("the exit code is 3", 3),
        ("It should exit with status 4 but exits with status 3", 3),
        ("exits with code 3 instead of exit code 4", 3),
        ("I expect exit status 4", None),
        ("does not exit with code 4", None),
    ],
)
def test_an_exit_status_that_is_seen(text: str, status: int | None) -> None:
    assert [check.exit_status for check in read_claim(text).having(Role.BUG)] == (
        [] if status is None else [status]
    )


@pytest.mark.parametrize(
    "past",
    [
        "It was 2.5 in every version that we have.",
        "Up to 1.26 this was only a DeprecationWarning.",
        "Before 2.0 the same line gave 2.5.",
        "It printed 2.5 in older releases.",
        "In all other versions it returned 2.5.",
    ],
)
def test_the_past_is_no_further_reading(past: str) -> None:
    text = f"""# f fails

```python
import numpy as np
print(np.f(3))
```

```
Traceback (most recent call last):
  File "a.py", line 2, in <module>
TypeError: bad
```

{past}
"""
    assert read(text, limits=NO_READ_LIMITS, form="report").claim.further == ()


@pytest.mark.parametrize(
    "text",
    [
        'It fails with the message "Dimension out of range".',
        "The error is `Dimension out of range`.",
        'Python complains about "Dimension out of range".',
        "Error message: Dimension out of range",
        'sum(5) raises "Dimension out of range"',
        'I get the error "Dimension out of range" here',
        'The call stops with an error saying "Dimension out of range".',
    ],
)
def test_an_error_may_be_named_by_its_message_alone(text: str) -> None:
    (check,) = read_claim(text).checks
    assert (check.kind, check.exception_type, check.message) == (
        CheckKind.EXCEPTION,
        None,
        "Dimension out of range",
    )


@pytest.mark.parametrize(
    "text",
    [
        'It should raise "Dimension out of range".',
        'It no longer fails with "Dimension out of range".',
        "It throws `torch.zeros(3)`.",
        'It ends with "done".',
        "The exception is `x = 3`.",
    ],
)
def test_a_quoted_text_that_is_no_seen_error_is_none(text: str) -> None:
    assert not [
        check
        for check in read_claim(text).checks
        if check.kind is CheckKind.EXCEPTION and check.role is Role.BUG
    ]


@pytest.mark.parametrize(
    "text",
    [
        "This raises an error.",
        "It throws an exception on my machine",
        "sum(5) errors out",
        "I get an error with 2.1 while 2.0 is fine",
        "An exception is thrown for empty input.",
    ],
)
def test_an_error_without_a_name_is_any_error(text: str) -> None:
    (check,) = unnamed_error([text])
    assert (check.kind, check.exception_type, check.message) == (CheckKind.EXCEPTION, "Exception", "")


@pytest.mark.parametrize(
    "text",
    [
        "It should raise an error.",
        "It does not raise an error.",
        "It gives an error of 0.1.",
        "sum(5) does not work",
        "It raises an error, as it should.",
        "I expected that it raises an error.",
        "The docs say it raises an exception",
    ],
)
def test_an_error_that_does_not_come_or_is_right_is_none(text: str) -> None:
    assert unnamed_error([text]) == []


@pytest.mark.parametrize(
    ("text", "bug", "right"),
    [
        ("I believe the answer ought to be `4`, but `3` is what I'm seeing.", "3", "4"),
        ("The mean should be exactly 4 but it's 3.", "3", "4"),
        ("3 is returned, although there are 4 of them.", "3", None),
        ("No matter what I pass, the result is always 3.", "3", None),
        ("Since the upgrade this code started returning NaN.", "nan", None),
    ],
)
def test_the_value_that_is_seen_may_stand_behind_other_words(text: str, bug: str, right: str | None) -> None:
    claim = read_claim(text)
    assert [each.number for each in claim.having(Role.BUG)] == [bug]
    assert [each.number for each in claim.having(Role.EXPECTED)] == ([right] if right else [])


def test_a_call_that_is_accepted_silently_lacks_an_error() -> None:
    claim = read_claim("The call is accepted silently, there should be an error.")
    assert claim.checks[0].kind is CheckKind.NO_ERROR


_SHOWS_IT = "# c\n\n```python\nimport numpy as np\nprint(np.fmin(1, 2) == 1)\n```\n\n{}\n"


@pytest.mark.parametrize(
    "words",
    [
        "`np.fmin(1, 2) == 1` is False.",
        "`np.fmin(1,2)==1` → `False`",
        "Here `np.fmin(1, 2) == 1` evaluates to False",
    ],
)
def test_a_sentence_gives_the_value_of_an_expression_of_the_script(words: str) -> None:
    checks = read(_SHOWS_IT.format(words), form="report", limits=NO_READ_LIMITS).claim.checks
    assert [check.lines for check in checks if check.role is Role.BUG] == [("False",)]


@pytest.mark.parametrize(
    "words",
    [
        "If `np.fmin(1, 2) == 1` is False, then nothing works.",
        "`np.fmin(2, 2) == 1` is False.",
        "`np.fmin(1, 2) == 1` is True, which is right.",
    ],
)
def test_other_sentences_about_an_expression_give_no_value(words: str) -> None:
    checks = read(_SHOWS_IT.format(words), form="report", limits=NO_READ_LIMITS).claim.checks
    assert not [check for check in checks if check.role is Role.BUG]
