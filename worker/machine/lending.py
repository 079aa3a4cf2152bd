"""Decides when a node may work: in the hours that its owner sets, and without a pause file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(
    rf"^(?:({'|'.join(_DAYS)})(?:-({'|'.join(_DAYS)}))?\s+)?"
    r"([01]?\d|2[0-3]):([0-5]\d)-"
    r"(?:([01]?\d|2[0-3]):([0-5]\d)|(24):(00))$",
    re.IGNORECASE,
)
_MOST_BYTES = 200
AT_ONCE = "now"


@dataclass(frozen=True, slots=True)
class Window:
    """A period that starts on certain days (0 is Monday), at a minute of the day. It may pass midnight."""

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
class Closure:
    """The reason why the node takes no attempts. With `at_once` it also stops those that run."""

    why: str
    at_once: bool = False


def read_hours(text: str) -> tuple[Window, ...]:
    """Parse hours such as `22:00-07:00, sat-sun 00:00-24:00`, in local time. Empty for always.

    Raises ValueError.
    """
    return tuple(_window(part.strip()) for part in text.split(",") if part.strip())


def _window(text: str) -> Window:
    match = _WINDOW.match(text)
    if match is None:
        raise ValueError(
            "not hours: write them as 22:00-07:00, or with days as sat-sun 00:00-24:00; several with commas. "
            f"Got: {text[:60]!r}"
        )
    first, last = (None if day is None else _DAYS.index(day.lower()) for day in match.group(1, 2))
    days = (
        range(7)
        if first is None
        else [(first + step) % 7 for step in range(((first if last is None else last) - first) % 7 + 1)]
    )
    start = int(match[3]) * 60 + int(match[4])
    end = 24 * 60 if match[7] else int(match[5]) * 60 + int(match[6])
    return Window(frozenset(days), start, (end - start) % (24 * 60) or 24 * 60)


class Lending:
    """The hours and the pause file of a node. The file is read at each call."""

    def __init__(
        self, pause_file: Path, hours: tuple[Window, ...], *, clock: Callable[[], datetime] = datetime.now
    ) -> None:
        self.pause_file = pause_file
        self._hours = hours
        self._clock = clock

    def closure(self) -> Closure | None:
        """The reason why the node may not work now. None if it may work."""
        try:
            with self.pause_file.open("rb") as file:
                word = file.read(_MOST_BYTES).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            word = None
        except OSError as error:
            # Somebody put something there, so the owner wants the machine back.
            return Closure(f"the pause file can't be read: {error.strerror}")
        if word is not None:
            at_once = word.lower() == AT_ONCE
            return Closure(
                "paused by its owner" if at_once or not word else f"paused by its owner: {word}",
                at_once=at_once,
            )
        if self._hours and not any(window.covers(self._clock()) for window in self._hours):
            return Closure("outside the hours that it is lent for")
        return None
