"""Cuts long untrusted texts for a page and counts the rest, so that no page grows without limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """The text that is shown, and how much is left out: lines behind it, or characters in its middle."""

    text: str
    more_lines: int = 0
    left_out: int = 0
    tail: str = ""


def head(text: str, lines: int = 200, characters: int = 12_000) -> Cut:
    """The first lines: at most so many lines, and at most so many characters."""
    every = text.splitlines(keepends=True)
    first: list[str] = []
    size = 0
    for line in every[:lines]:
        if size + len(line) > characters:
            break
        first.append(line)
        size += len(line)
    if not first and every:
        return Cut(
            text[:characters], more_lines=max(0, len(every) - 1), left_out=max(0, len(every[0]) - characters)
        )
    return Cut("".join(first), more_lines=len(every) - len(first))


def ends(text: str, characters: int = 8_000) -> Cut:
    """The beginning and the end, because the last lines of a long output say most."""
    if len(text) <= characters:
        return Cut(text)
    half = characters // 2
    return Cut(text[:half], left_out=len(text) - 2 * half, tail=text[len(text) - half :])
