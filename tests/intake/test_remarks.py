"""Remarks of the reporter: on the values of two versions, on printed lines, on messages."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, Role

SCRIPT = "```python\nimport numpy as np\nprint(np.median([3]))\n```\n\n"


def _values(text: str) -> list[tuple[Role, str]]:
    claim = read(f"# median\n\n{SCRIPT}{text}\n", form="report").claim
    return [(check.role, _value(check)) for check in claim.checks]


def _value(check: Check) -> str:
    return check.number or " ".join(check.lines)


@pytest.mark.parametrize(
    "text",
    [
        "It returns `41` with numpy 1.24 and `40` from numpy 1.25 on. I'd expect `41` everywhere.",
        "Prints 41 on 1.24 but 40 on 1.25; I expected 41",
        "With 1.25.0 I get 40, with 1.24.1 I get 41. It should be 41.",
        "Es kommt `41` mit Version 1.24 und `40` seit Version 1.25. Ich erwarte `41`.",
        "We see 41 in 1.24 and 40 since 1.25, correct is 41.",
    ],
)
def test_the_value_of_the_other_version_is_the_bug(text: str) -> None:
    assert _values(text) == [(Role.BUG, "40"), (Role.EXPECTED, "41")]


def test_a_value_that_is_not_right_is_the_bug() -> None:
    text = "It returns 41 with 1.24 and 40 with 1.25. It should not be 41, I expect 40."
    assert _values(text) == [(Role.BUG, "41"), (Role.EXPECTED, "40")]


@pytest.mark.parametrize(
    "text",
    [
        "It returns 41 with 1.24 and 40 with 1.25. Is it 41 or 40?",
        "It returns 41 with 1.24 and 40 with 1.25. I expect 41. Others expect 40.",
    ],
)
def test_nothing_is_right_if_the_report_does_not_say_which(text: str) -> None:
    assert Role.EXPECTED not in {role for role, _ in _values(text)}
