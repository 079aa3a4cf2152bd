"""Outputs with times of the clock: they differ in every run, and mean nothing by themselves."""

from __future__ import annotations

import pytest
from job_verdicts import verdict
from judging_builders import prints, result

NOW = "from datetime import datetime\nnow = datetime.now()\nprint(now)\n"
CLAIMED = ("today: 2023-04-17 12:45:20.873231", "result: 2023-04-17 12:45:20.873231")


def judged(*seen: str, text: str = NOW) -> str:
    return verdict(prints(*CLAIMED), results=[result("\n".join(seen))] * 3, text=text)


def test_the_same_pattern_of_times_is_the_claimed_output() -> None:
    assert judged("today: 2026-11-30 09:54:31.496636", "result: 2026-11-30 09:54:31.496636") == "reproduced"


@pytest.mark.parametrize(
    "second",
    [
        # Another day, fixed by the script.
        "result: 2021-01-01 09:54:31.496636",
        # Another moment.
        "result: 2026-11-30 09:54:31.777777",
        "result: None",
    ],
)
def test_another_pattern_is_not(second: str) -> None:
    assert judged("today: 2026-11-30 09:54:31.496636", second) == "different"


@pytest.mark.parametrize("text", ["print(1)", "print(FIXED.strftime('%F %T.%f'))"])
def test_without_a_clock_a_time_is_a_value(text: str) -> None:
    lines = ("today: 2026-11-30 09:54:31.496636", "result: 2026-11-30 09:54:31.496636")
    assert judged(*lines, text=text) == "different"


def test_times_that_a_script_writes_itself_are_values() -> None:
    claim = prints("start 2024-01-02 12:00:00", "end 2024-01-03 13:00:00")
    seen = result("start 2024-01-02 12:00:00\nend 2024-01-04 14:00:00")
    assert verdict(claim, results=[seen] * 3, text=NOW) == "different"
