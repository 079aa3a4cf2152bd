"""Errors that a report calls right, in many words; and words that call none right."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.remarks.right_errors import errors_called_right

ANY = ("Exception",)


@pytest.mark.parametrize(
    ("sentence", "types"),
    [
        ("It should raise an error instead of returning zeros.", ANY),
        ("It segfaults rather than throwing an appropriate error message.", ANY),
        ("It returns zeros instead of an error.", ANY),
        ("I would expect a ValueError here.", ("ValueError",)),
        ("Negative sizes must be rejected.", ANY),
        ("`linspace` accepts invalid sizes.", ANY),
        ("It takes any size, and nobody complains.", ANY),
        ("The sizes should be checked.", ANY),
        ("There is no input validation at all.", ANY),
        (
            "`f` throws `mylib.TooLargeError` for ints, and floats should raise it as well.",
            ("TooLargeError",),
        ),
        # These are no wish for an error.
        ("It should not raise an error.", ()),
        ("It raises ValueError.", ()),
        ("The relative error should be below 1e-6.", ()),
        ("I get an error instead of 3.", ()),
        ("It works without an error in 1.26.", ()),
        ("The sum should be 3.", ()),
    ],
)
def test_sentences_call_errors_right(sentence: str, types: tuple[str, ...]) -> None:
    assert errors_called_right(["title", sentence], [], [], "f(1)") == types


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("no crash; if the input is not valid I expect an exception with a clear message", ANY),
        ("All others throw here, so an error, please.", ANY),
        ("TypeError: bad operand", ("TypeError",)),
        ("An error-free result.", ()),
        ("It should not throw.", ()),
        ("No error.", ()),
        ("The same value as numpy, with an absolute error below 1e-6.", ()),
    ],
)
def test_lines_under_a_heading_call_errors_right(line: str, types: tuple[str, ...]) -> None:
    assert errors_called_right(["title"], [f"Expected: {line}"], [], "f(1)") == types


def test_a_wish_for_no_error_outweighs_the_rest() -> None:
    texts = ["title", "It should raise an error instead of returning zeros."]
    assert errors_called_right(texts, ["Expected: it must not raise."], [], "f(1)") == ()


def test_the_error_of_another_library_below_the_heading_is_any_error() -> None:
    claim = read(
        "# sample takes bad bounds\n\n```python\nfrom lib import sample\nprint(sample(-4))\n```\nprints\n"
        "```\n0.5\n```\n## Expected behavior\nWhat numpy does:\n```\n>>> numpy_sample(-4)\n"
        'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n'
        "ValueError: low >= high\n```\n"
    ).claim
    assert set(claim.right_errors) == {"Exception", "ValueError"}
