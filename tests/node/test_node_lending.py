"""The times when a node works: hours, and a file that stops it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from worker.machine.lending import Closure, Lending, read_hours


def at(text: str) -> datetime:
    """A day of the first week of 2026-06, which begins on a Monday."""
    day, time = text.split()
    number = 1 + ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].index(day)
    return datetime.fromisoformat(f"2026-06-{number:02d}T{time}")


@pytest.mark.parametrize(
    ("hours", "moment", "open_"),
    [
        ("", "wed 03:00", True),
        ("09:00-17:30", "wed 09:00", True),
        ("09:00-17:30", "wed 17:29", True),
        ("09:00-17:30", "wed 17:30", False),
        ("22:00-07:00", "wed 23:59", True),
        ("22:00-07:00", "thu 06:59", True),
        ("22:00-07:00", "thu 07:00", False),
        ("fri 22:00-07:00", "sat 03:00", True),
        ("fri 22:00-07:00", "sun 03:00", False),
        ("fri 22:00-07:00", "fri 03:00", False),
        ("sun 20:00-06:00", "mon 05:59", True),
        ("sat-sun 00:00-24:00", "sun 23:59", True),
        ("sat-sun 00:00-24:00", "mon 00:00", False),
        ("fri-mon 00:00-24:00", "sun 12:00", True),
        ("fri-mon 00:00-24:00", "tue 12:00", False),
        ("mon-fri 20:00-07:00, SAT-SUN 0:00-24:00", "sat 12:00", True),
        ("mon-fri 20:00-07:00, sat-sun 0:00-24:00", "fri 12:00", False),
        ("08:00-08:00", "tue 07:59", True),
    ],
)
def test_hours(tmp_path: Path, hours: str, moment: str, open_: bool) -> None:  # noqa: FBT001
    closure = Lending(tmp_path / "pause", read_hours(hours), clock=lambda: at(moment)).closure()
    assert closure == (None if open_ else Closure("outside the hours that it is lent for"))


@pytest.mark.parametrize(
    "hours", ["nights", "9-17", "25:00-26:00", "mo 09:00-10:00", "09:00-24:30", "09:00–17:00", "mon-fri"]
)
def test_hours_that_are_none(hours: str) -> None:
    with pytest.raises(ValueError, match="22:00-07:00"):
        read_hours(hours)


@pytest.mark.parametrize(
    ("content", "closure"),
    [
        (b"", Closure("paused by its owner")),
        (b"back on Monday\n", Closure("paused by its owner: back on Monday")),
        (b"now\n", Closure("paused by its owner", at_once=True)),
        (b"NOW", Closure("paused by its owner", at_once=True)),
        (b"\xff", Closure("paused by its owner: \N{REPLACEMENT CHARACTER}")),
    ],
)
def test_the_pause_file(tmp_path: Path, content: bytes, closure: Closure) -> None:
    lending = Lending(tmp_path / "pause", ())
    assert lending.closure() is None
    lending.pause_file.write_bytes(content)
    assert lending.closure() == closure
    lending.pause_file.unlink()
    assert lending.closure() is None


def test_a_pause_file_that_is_a_folder_pauses_as_well(tmp_path: Path) -> None:
    (tmp_path / "pause").mkdir()
    closure = Lending(tmp_path / "pause", ()).closure()
    assert closure is not None
    assert "can't be read" in closure.why
