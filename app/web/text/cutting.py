"""Long texts of strangers cut for a page, with what was left out counted, so that no page grows with what somebody printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """What is shown, and how much more there is: lines behind it, or characters in its middle."""

    text: str
    more_lines: int = 0
    left_out: int = 0
    tail: str = ""


def head(text: str, lines: int = 200, characters: int = 12_000) -> Cut:
    """The first lines."""
    every = text.splitlines(keepends=True)
    shown: list[str] = []
    size = 0
    for line in every[:lines]:
        if size + len(line) > characters:
            break
        shown.append(line)
        size += len(line)
    if not shown and every:
        return Cut(
            text[:characters], more_lines=max(0, len(every) - 1), left_out=max(0, len(every[0]) - characters)
        )
    return Cut("".join(shown), more_lines=len(every) - len(shown))


def ends(text: str, characters: int = 8_000) -> Cut:
    """The beginning and the end: of long output the last lines say most."""
    if len(text) <= characters:
        return Cut(text)
    half = characters // 2
    return Cut(text[:half], left_out=len(text) - 2 * half, tail=text[len(text) - half :])
