"""When a node works: the hours its owner lends the machine for, and the file by which it is had back at any time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(
    rf"^(?:({'|'.join(_DAYS)})(?:-({'|'.join(_DAYS)}))?\s+)?([01]?\d|2[0-3]):([0-5]\d)-(?:([01]?\d|2[0-3]):([0-5]\d)|(24):(00))$",
    re.IGNORECASE,
)
_MOST_BYTES = 200
AT_ONCE = "now"


@dataclass(frozen=True, slots=True)
class Window:
    """From a minute of certain days on, for some minutes, past midnight too."""

    days: frozenset[int]
    start: int
    minutes: int

    def covers(self, moment: datetime) -> bool:
        minute = moment.hour * 60 + moment.minute
        today = moment.weekday() in self.days and self.start <= minute < self.start + self.minutes
        yesterday = (
            moment - timedelta(days=1)
        ).weekday() in self.days and minute + 24 * 60 < self.start + self.minutes
        return today or yesterday


@dataclass(frozen=True, slots=True)
class Closed:
    """Why the node takes nothing; `at_once` gives back what runs as well."""

    why: str
    at_once: bool = False


def read_hours(text: str) -> tuple[Window, ...]:
    """`22:00-07:00, sat-sun 00:00-24:00`, in the machine's own time; empty for always. Raise ValueError with what is wrong."""
    return tuple(_window(part.strip()) for part in text.split(",") if part.strip())


def _window(text: str) -> Window:
    found = _WINDOW.match(text)
    if found is None:
        raise ValueError(
            f"not hours: write them as 22:00-07:00, or with days as sat-sun 00:00-24:00; several with commas. Got: {text[:60]!r}"
        )
    first, last = (None if day is None else _DAYS.index(day.lower()) for day in found.group(1, 2))
    days = (
        range(7)
        if first is None
        else [(first + step) % 7 for step in range(((first if last is None else last) - first) % 7 + 1)]
    )
    start = int(found[3]) * 60 + int(found[4])
    end = 24 * 60 if found[7] else int(found[5]) * 60 + int(found[6])
    return Window(frozenset(days), start, (end - start) % (24 * 60) or 24 * 60)


class Lending:
    """Asked again and again; reads the file anew each time."""

    def __init__(
        self, pause_file: Path, hours: tuple[Window, ...], *, clock: Callable[[], datetime] = datetime.now
    ) -> None:
        self.pause_file = pause_file
        self._hours = hours
        self._clock = clock

    def closed(self) -> Closed | None:
        """None while the node may work."""
        try:
            with self.pause_file.open("rb") as file:
                word = file.read(_MOST_BYTES).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            word = None
        except OSError as error:
            # Whoever put something there meant to have the machine back.
            return Closed(f"the pause file can't be read: {error.strerror}")
        if word is not None:
            at_once = word.lower() == AT_ONCE
            return Closed(
                "paused by its owner" if at_once or not word else f"paused by its owner: {word}",
                at_once=at_once,
            )
        if self._hours and not any(window.covers(self._clock()) for window in self._hours):
            return Closed("outside the hours that it is lent for")
        return None
