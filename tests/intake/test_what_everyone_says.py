"""Values that everyone else is said to have are the right ones; those of other runs and calls are not."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role

REPORT = """midpoint of 7 and 8 is off

1. `import statistics`
2. `pair = [7, 8]`
3. `print(statistics.median_low(pair))`

{words}
"""


def expected(words: str) -> list[str | None]:
    claim = read(REPORT.format(words=words), form="report").claim
    assert [check.lines for check in claim.having(Role.BUG)][:1] == [("7",)]
    return [check.number for check in claim.having(Role.EXPECTED)]


@pytest.mark.parametrize(
    "words",
    [
        "prints `7` but every spreadsheet I know says `7.5`",
        "gives `7`, all textbooks of the world say `7.5`",
        "returns `7`, and my teacher gets `7.5`",
        "prints `7`, everybody else `7.5`",
        "gibt `7`, aber jeder Taschenrechner sagt `7.5`",
        "shows `7` while the rest of the world has `7.5`",
    ],
)
def test_what_everyone_says_is_right(words: str) -> None:
    assert expected(words) == ["7.5"]


@pytest.mark.parametrize(
    "words",
    [
        "prints `7` but every other run says `7.5`",
        "gives `7`, all later calls `7.5`",
        "prints `7`, but most rows have `7.5`",
        "gives `7` but the next line says `7.5`",
        "returns `7`, any newer version says `7.5`",
    ],
)
def test_other_runs_calls_and_places_say_nothing_of_what_is_right(words: str) -> None:
    assert expected(words) == []
