"""Finds the lines of warnings in what a terminal shows: the head, the message, and the source line below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.intake.words.vocabulary import is_printed_line

_WARNING = re.compile(
    # `UserWarning: Warning: too long` has no file before its type.
    r"\s*(?:(?!\w{1,60}Warning:)(?:(?:[A-Za-z]:)?[^\s:]{1,300}(?::\d{1,7})?|<[^<>\n]{1,60}>(?::\d{1,7})?|\[W[^\]\n]{1,200}\]):?\s+)?"
    r"(?P<type>(?:\w{1,60}\.){0,6}\w{0,60}Warning):(?: (?P<message>.{1,1000}))?"
)
_SOURCE = re.compile(r"\s{2,}\S")
# Below a message of several lines, an indented array may be what the script prints.
_STATEMENT = re.compile(r"\s{2,}[A-Za-z_]")
# A message of several lines ends above the source line, and not further down than so many lines.
_MOST_OF_MESSAGE = 14


@dataclass(frozen=True, slots=True)
class ShownWarning:
    """A warning, by the numbers of its first line and of the line behind its last one."""

    start: int
    end: int
    type: str
    message: str


def numbers_of_lines(warnings: Iterable[ShownWarning]) -> set[int]:
    """The numbers of all lines of some warnings."""
    return {at for each in warnings for at in range(each.start, each.end)}


def shows_failure(text: str) -> bool:
    """True if a text has a traceback or a warning, as a terminal shows them."""
    return "Traceback (most recent" in text or any(warnings_shown(text.split("\n")))


def warnings_shown(lines: Sequence[str]) -> Iterator[ShownWarning]:
    """The warnings in lines that keep their indent."""
    at = 0
    while at < len(lines):
        match = _WARNING.fullmatch(lines[at].rstrip()) if "Warning:" in lines[at] else None
        if match is None:
            at += 1
            continue
        end = _end_of(lines, at + 1, has_message=match["message"] is not None)
        message = match["message"] or next((line for line in lines[at + 1 : end] if line.strip()), "")
        yield ShownWarning(at, end, match["type"].rsplit(".", 1)[-1], message.strip())
        at = end


def _end_of(lines: Sequence[str], start: int, *, has_message: bool) -> int:
    """The number of the line behind a warning whose head stands above `start`."""
    if start < len(lines) and _SOURCE.match(lines[start]):
        return start + 1
    if has_message and (start >= len(lines) or len(lines[start].split()) < 4):
        return start
    for at in range(start, min(len(lines), start + _MOST_OF_MESSAGE)):
        if _STATEMENT.match(lines[at]) and at > start:
            return at + 1
        if lines[at].strip() and is_printed_line(lines[at]):
            break
    # Without a source line, an empty head has its message on the next line.
    return start if has_message else min(start + 1, len(lines))
