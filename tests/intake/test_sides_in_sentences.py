"""A sentence about one side of a comparison: of code that is compiled and of the line with its label."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role

REPORT = """# floor division is off

```python
import torch
def f(x): return x // 0.1
x = torch.tensor([1.0, 0.5])
print("plain  ", f(x).tolist())
print("faster ", torch.compile(f)(x).tolist())
```

{}
"""
SHOWN = "\n\n```\nplain   [9.0, 4.0]\nfaster  [10.0, 5.0]\n```\n"
BOTH = ("plain   [9.0, 4.0]", "faster  [10.0, 5.0]")


def bugs(words: str) -> list[tuple[str, ...] | str | None]:
    claim = read(REPORT.format(words + SHOWN), form="report").claim
    return [
        check.number or check.lines for each in (claim, *claim.further) for check in each.having(Role.BUG)
    ]


@pytest.mark.parametrize(
    "words",
    [
        "If the step is small, eager gives 9 and inductor gives the next number.",
        "Eager mode returns `9.0`, torch.compile is off by one.",
        "Uncompiled it is 9, compiled not.",
        "Without torch.compile it prints `9.0`; with it the result changes.",
        "The plain function gives 9, jitted it gives the next one.",
    ],
)
def test_what_code_gives_uncompiled_is_no_bug_of_the_compiled_code(words: str) -> None:
    assert bugs(words) == [BOTH]


@pytest.mark.parametrize(
    "words",
    [
        "Eager gives 9, which is wrong, compiled it is fine.",
        "Eager gives 9.",
        "Eager returns 9, and compiled it is 10, which is right.",
    ],
)
def test_a_wrong_value_of_uncompiled_code_stays_the_bug(words: str) -> None:
    assert "9" in bugs(words)


@pytest.mark.parametrize(
    "words", ["The faster one gives `10`.", "I see that `faster` prints `10`, a bucket more."]
)
def test_a_number_in_a_sentence_is_about_the_line_with_its_label(words: str) -> None:
    assert bugs(words) == [BOTH[1:], BOTH]


@pytest.mark.parametrize(
    "words", ["It gives `10`.", "The quicker one gives `10`.", "The plain one gives `10`."]
)
def test_without_its_label_a_number_stands_for_itself(words: str) -> None:
    assert bugs(words)[0] == ("10",)
