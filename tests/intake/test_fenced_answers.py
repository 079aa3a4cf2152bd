"""Answers in the fence of a form that asks for an error message, where there is none."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role

FORM = """# BUG: trapz is off by a third

### Reproducing Code Example

```python
from scipy import integrate
print(integrate.trapz([0, 1, 4], dx=1))
```

### {heading}

```shell
{answer}
```

### Version information

```shell
1.10.1 1.24.3 sys.version_info(major=3, minor=11, micro=3, releaselevel='final', serial=0)
```
"""


def values(heading: str, answer: str) -> list[tuple[Role, str | None]]:
    claim = read(FORM.format(heading=heading, answer=answer), form="report").claim
    return [(check.role, check.number) for check in claim.checks]


@pytest.mark.parametrize(
    ("heading", "answer"),
    [
        ("Error message", "There is no exception, only 2.833 where it should be 3.5"),
        ("Error Message or Traceback", "N/A, prints 2.833, expected 3.5"),
        ("Full traceback", "(no error) result: 2.833, right: 3.5"),
        ("Fehlermeldung", "Kein Fehler, aber 2.833 statt 3.5"),
        ("Message d'erreur", "2.833 au lieu de 3.5"),
        ("Error:", "None, it returns 2.833 instead of 3.5"),
    ],
)
def test_an_answer_in_a_fence_is_a_sentence(heading: str, answer: str) -> None:
    assert values(heading, answer) == [(Role.BUG, "2.833"), (Role.EXPECTED, "3.5")]


@pytest.mark.parametrize(
    ("heading", "output"),
    [
        ("Output", "no error, mean deviation 2.833"),
        ("Error message", "2.833"),
        ("Error message", "No error: 2.833\nNo error: 3.5"),
        ("Error message", "mean 2.833 std 3.5"),
    ],
)
def test_printed_lines_in_a_fence_stay_output(heading: str, output: str) -> None:
    assert (Role.EXPECTED, "3.5") not in values(heading, output)
