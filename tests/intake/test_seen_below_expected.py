"""A section for what is expected may say what comes instead; a list of right values says nothing of it."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role

REPORT = """# groups are mixed up

```python
import lib
a, b = lib.one(), lib.other()
print(a.equals(b))
print(a.head())
```

The groups are not kept apart.

#### Expected Output

{}
"""


def claimed(words: str) -> list[tuple[Role, str]]:
    checks = read(REPORT.format(words), form="report").claim.checks
    return [
        (check.role, check.number or "".join(check.lines)) for check in checks if check.kind != "no_error"
    ]


@pytest.mark.parametrize(
    "words",
    [
        "`True` for the first line, `False` is shown.",
        "The first print should give `True`, it gives `False`.",
        "`True`, but I get `False`.",
        "`True` (it prints `False`).",
        "`True` instead of `False`",
        "`True` in the first line; we see `False`.",
        "`True` is expected for the first line. `False` is what I get.",
    ],
)
def test_a_value_that_comes_instead_is_the_bug(words: str) -> None:
    assert claimed(words) == [(Role.BUG, "False"), (Role.EXPECTED, "True")]


@pytest.mark.parametrize(
    "words",
    [
        "`True` for the first print, `False` for the second.",
        "`True` is printed, then `False` is printed.",
        "The script prints `3` and returns `0`.",
        "`True` if they are equal, `False` is returned otherwise.",
        "`True`, as `False` is returned only for lists.",
        "`3`. `4` is printed by numpy 1.20.",
        "Either `3` is printed or `4` is returned.",
    ],
)
def test_several_right_values_are_no_claim(words: str) -> None:
    assert claimed(words) == []
