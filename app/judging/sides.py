"""The two sides of a difference within one attempt: lines that name the CPU or the GPU, eager or compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.judging.output import Token, contains, same_tokens, tokens_of

_WORDS = {
    "cpu": r"cpu",
    "cuda": r"cuda|gpu",
    "eager": r"eager",
    "compiled": r"compiled?|inductor|dynamo",
}
# A word of its own, or a part of a name joined by underscores: `res_cpu`, `cuda:0`, `CPU_out`.
_NAMED = {side: re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])(?::\d+)?", re.IGNORECASE) for side, words in _WORDS.items()}


def side_of(line: str, sides: Sequence[str]) -> str | None:
    """The one side that a line names; None when it names none or both."""
    named = [side for side in sides if side in _NAMED and _NAMED[side].search(line)]
    return named[0] if len(named) == 1 else None


def without_name(line: str, side: str) -> list[Token]:
    """What the line says besides the side's name."""
    return tokens_of(_NAMED[side].sub(" ", line))


def lines_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, list[str]]:
    """The lines that each side printed, in order."""
    found: dict[str, list[str]] = {side: [] for side in sides}
    for line in stdout.splitlines():
        side = side_of(line, sides)
        if side is not None:
            found[side].append(line)
    return found


def sides_agree(found: dict[str, list[str]]) -> bool:
    """Whether all sides printed the same besides their names."""
    said = [[without_name(line, side) for line in lines] for side, lines in found.items()]
    first = said[0]
    return all(len(other) == len(first) and all(map(same_tokens, first, other)) for other in said[1:])


def side_says(lines: Sequence[str], side: str, claimed: str) -> bool:
    """Whether a line of this side says what is claimed of it."""
    wanted = without_name(claimed, side)
    return any(contains(without_name(line, side), wanted) for line in lines)
