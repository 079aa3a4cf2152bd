"""What a comment says of a value is read in whatever words it stands, and a guess is not read at all."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.words.comment_forms import in_one_form

_SHOWS_BOTH = [
    "7 (correct: 3)",
    "gives 7 but 3 expected",
    "7 (3 in numpy)",
    "7, numpy gives 3",
    "7 != 3",
    "7; true value 3",
    "expected 3, got 7",
    "3 is expected, 7 is printed",
    "this prints 7, should be 3",
    "actual: 7, expected: 3",
]
_SHOWS_ONE = ["Wrong: 7", "7???", "7 :(", "7 -- why?", "I get 7", "this prints 7", "7 unexpectedly"]


def _checks(script: str) -> list[tuple[Role, tuple[str, ...]]]:
    text = f"# The sum is wrong\n\n```python\n{script}\n```\n"
    return [(check.role, check.lines) for check in read(text, form="report").claim.checks]


@pytest.mark.parametrize("comment", _SHOWS_BOTH)
def test_a_comment_names_the_wrong_value_and_the_right_one(comment: str) -> None:
    script = f"import numpy as np\nprint(np.sum([1, 2]))  # {comment}"
    assert _checks(script) == [(Role.BUG, ("7",)), (Role.EXPECTED, ("3",))]


@pytest.mark.parametrize("comment", _SHOWS_ONE)
def test_a_comment_names_the_value_that_is_seen(comment: str) -> None:
    assert _checks(f"import numpy as np\nprint(np.sum([1, 2]))  # {comment}") == [(Role.BUG, ("7",))]


@pytest.mark.parametrize(
    "comment",
    [
        "7 rows are enough",
        "numpy gives 3 here",
        "see issue 7 in numpy",
        "add 7",
        "7 in numpy 3 in torch is ok",
    ],
)
def test_a_comment_that_shows_no_value_is_left_alone(comment: str) -> None:
    assert in_one_form(comment) == comment


def test_equal_values_are_no_contrast() -> None:
    assert in_one_form("3 (3 in numpy)") == "3 (3 in numpy)"


def test_a_truth_that_should_be_there_names_the_other_one() -> None:
    script = "import numpy as np\nprint(np.isclose(1, 1))  # should be True"
    assert _checks(script) == [(Role.BUG, ("False",)), (Role.EXPECTED, ("True",))]


@pytest.mark.parametrize(
    "lines",
    [
        "print(x.sum())  # tensor(4.)\n# expected tensor(3.)",
        "print(x.sum())\n# tensor(4.)\n# but should be tensor(3.)",
    ],
)
def test_the_right_value_may_stand_in_the_comment_below(lines: str) -> None:
    script = f"import torch\nx = torch.ones(3)\n{lines}"
    assert _checks(script) == [(Role.BUG, ("tensor(4.)",)), (Role.EXPECTED, ("tensor(3.)",))]


def test_versions_with_an_x_are_versions() -> None:
    script = "import torch\nprint(torch.ones(3).sum())  # 5.0 on 1.x, 6.0 on 2.x"
    assert _checks(script) == [(Role.BUG, ("6.0",)), (Role.EXPECTED, ("5.0",))]
