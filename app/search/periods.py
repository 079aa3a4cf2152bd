"""Periods as people type them: `last-week`, `30d`, `2026-11-01`, `>=2026-11-01`, `2026-10-01..2026-10-31`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

FORMS = (
    "today, yesterday, last-week, last-month, last-year, 30d, 6w, "
    "2026-11-01, >=2026-11-01, 2026-10-01..2026-10-31"
)
_NAMED = {"last-week": 7, "last-month": 30, "last-year": 365}
_SPAN = re.compile(r"([1-9]\d{0,3})([dw])")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_BOUND = re.compile(r"(>=|<=|>|<)(\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, slots=True)
class Period:
    """The moments from `since` to before `until`. None means no bound on that side."""

    since: datetime | None
    until: datetime | None


def is_period(text: str) -> bool:
    """Whether the text names a period."""
    return period(text, moment=datetime(2000, 1, 1, tzinfo=UTC)) is not None


def period(text: str, *, moment: datetime) -> Period | None:
    """The period that a text names, relative to `moment`; None if it names none. Days are UTC days."""
    today = moment.astimezone(UTC).date()
    if text == "today":
        return Period(_start(today), None)
    if text == "yesterday":
        return Period(_start(today - timedelta(days=1)), _start(today))
    if text in _NAMED:
        return Period(moment - timedelta(days=_NAMED[text]), None)
    if span := _SPAN.fullmatch(text):
        return Period(moment - timedelta(days=int(span[1]) * (7 if span[2] == "w" else 1)), None)
    return _of_days(text)


def _of_days(text: str) -> Period | None:
    first, dots, last = text.partition("..")
    if dots:
        begin, end = _day(first), _day(last)
        return None if begin is None or end is None or end < begin else Period(_start(begin), _after(end))
    if bound := _BOUND.fullmatch(text):
        day = _day(bound[2])
        if day is None:
            return None
        return {
            ">=": Period(_start(day), None),
            ">": Period(_after(day), None),
            "<": Period(None, _start(day)),
            "<=": Period(None, _after(day)),
        }[bound[1]]
    day = _day(text)
    return None if day is None else Period(_start(day), _after(day))


def _day(text: str) -> date | None:
    """The date; None for the last date of the calendar, which has no next day."""
    if not _DAY.fullmatch(text) or not text.isascii():
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day < date.max else None


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _after(day: date) -> datetime:
    return _start(day + timedelta(days=1))
