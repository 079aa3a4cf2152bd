"""Words above a block that call it right, and words that deny that it is."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading
from app.intake.snippets.roles import says_it_works


def report(words: str) -> Reading:
    code = "import torch\nprint(torch.tensor([1.0, 2.0]).mean())"
    seen = f"# mean\n\n```python\n{code}\n```\n\nI have\n\n```\ntensor(2.)\n```\n\n"
    return read(f"{seen}{words}\n\n```\ntensor(1.5000)\n```\n", form="report")


@pytest.mark.parametrize(
    "words",
    [
        "My neighbour's box still has the correct",
        "A friend, who did not update, gets the right:",
        "The version of last year printed the correct value",
        "Our cluster shows the expected",
        "With the wheel of spring one got the proper",
        "The box which isn't updated has the correct value:",
    ],
)
def test_a_block_that_is_called_right(words: str) -> None:
    claim = report(words).claim
    assert [check.lines for check in claim.having(Role.BUG)] == [("tensor(2.)",)]
    assert [check.lines for check in claim.having(Role.EXPECTED)] == [("tensor(1.5000)",)]
    assert not claim.further


@pytest.mark.parametrize(
    "words",
    [
        "This does not give the correct result:",
        "It never returns the right value:",
        "On the new server I can't get the correct answer:",
        "None of my machines shows the correct value:",
        "In 2.1 this isn't the right output any more:",
        "That is far from the correct value:",
    ],
)
def test_a_block_that_is_denied_to_be_right(words: str) -> None:
    assert not says_it_works(words)
    reading = report(words)
    rights = [
        check.lines
        for each in (reading.claim, *reading.claim.further)
        for check in each.having(Role.EXPECTED)
    ]
    assert ("tensor(1.5000)",) not in rights
