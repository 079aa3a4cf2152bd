"""Tells when a bug is gone from outputs of a known form: sizes of memory, weak references, tables.

Each speaks only where all the rest of the output is as claimed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.printed_lines import form_of, tokens_of
from app.judging.output.printed_numbers import Number, matches

_MOST_LINES = 400
# `12 790 MB`, `step 3: 1.5 GiB`.
_MEMORY = re.compile(r"(?<![\w.])(?P<size>\d{1,15}(?:\.\d{1,9})?) ?(?P<unit>[KMG]i?B|bytes)\b", re.IGNORECASE)
_LEAST_SIZES = 3
# The first sizes grow in any program.
_FIRST = 2
# Memory that grew by less than this share of the claimed growth is flat.
_FLAT = 0.05
_LEAST_GROWTH = 1.2
_WEAKREF = re.compile(
    r"<weakref at ADDRESS; (?:to '[^'<>]{1,200}'(?: at ADDRESS)?(?: \([^()<>]{1,200}\))?|dead)>"
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DEAD = "<weakref at ADDRESS; dead>"
_ANSWER = re.compile(r"\s(?P<answer>True|False)\s*$")
_RIGHTNESS = re.compile(
    r"(?<![a-z])(?:is[-_ ]?)?(?:equal|same|close|match(?:es)?|correct|identical|ok)s?(?![a-z])", re.IGNORECASE
)


def is_mended(check: Check, stdout: str) -> bool:
    """Whether memory that grew is flat, a living reference is dead, or the answers of a table are True."""
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed = [line for line in check.lines if line.strip()][:_MOST_LINES]
    lines = [line for line in stdout.splitlines() if line.strip()][:_MOST_LINES]
    return (
        _memory_is_flat(claimed, lines) or _reference_is_dead(claimed, lines) or _table_agrees(claimed, lines)
    )


def nan_is_gone(check: Check, stdout: str, called_right: Sequence[str] = ()) -> bool:
    """Whether nan became what finite places show, where the script draws its numbers at random.

    All places that were finite are finite, and those that were nan hold values that such a place shows, or
    the values of one row that the report calls right.
    """
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed = [token for line in check.lines[:_MOST_LINES] for token in tokens_of(line)]
    seen = [token for line in stdout.splitlines()[:_MOST_LINES] for token in tokens_of(line)]
    if form_of(claimed) != form_of(seen):
        return False
    pairs = [
        (one, other)
        for one, other in zip(claimed, seen, strict=True)
        if isinstance(one, Number) and isinstance(other, Number)
    ]
    references = {other.text for one, other in pairs if math.isfinite(one.value)}
    missing = [other for one, other in pairs if not math.isfinite(one.value)]
    finite = all(math.isfinite(other.value) for _, other in pairs)
    if not missing or not finite:
        return False
    return all(other.text in references for other in missing) or any(
        _are_of_row(missing, text) for text in called_right
    )


def _are_of_row(seen: Sequence[Number], text: str) -> bool:
    """Whether the numbers are those of a row that is called right, in order, once or several times."""
    row = [token for token in tokens_of(text) if isinstance(token, Number)]
    return (
        len(row) > 1
        and len(seen) % len(row) == 0
        and all(matches(row[at % len(row)], number) for at, number in enumerate(seen))
    )


def _memory_is_flat(claimed: Sequence[str], lines: Sequence[str]) -> bool:
    before, now = _sizes(claimed), _sizes(lines)
    if before is None or now is None or len(before) != len(now) or len(before) < _LEAST_SIZES:
        return False
    if [_MEMORY.sub("SIZE", line) for line in claimed] != [_MEMORY.sub("SIZE", line) for line in lines]:
        return False
    grew = all(one < other for one, other in pairwise(before))
    growth = before[-1] - before[_FIRST - 1]
    last = now[_FIRST - 1 :]
    return grew and before[-1] >= _LEAST_GROWTH * before[0] and max(last) - last[0] <= _FLAT * growth


def _sizes(lines: Sequence[str]) -> list[float] | None:
    """The size that each line shows, in one unit; None if a line shows none, or several."""
    sizes = [list(_MEMORY.finditer(line)) for line in lines]
    if any(len(each) != 1 for each in sizes) or len({each[0]["unit"] for each in sizes}) != 1:
        return None
    return [float(each[0]["size"]) for each in sizes]


def _reference_is_dead(claimed: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether a reference that was printed twice, alive, is dead at the later place, and only there."""
    before = [_ADDRESS.sub("ADDRESS", line) for line in claimed]
    now = [_ADDRESS.sub("ADDRESS", line) for line in lines]
    if len(before) != len(now) or len(before) < 2 or now[0] != before[0] or before[0] not in before[1:]:
        return False
    changed = [(one, other) for one, other in zip(before, now, strict=True) if one != other]
    return bool(changed) and all(
        _DEAD in other and one == before[0] and _WEAKREF.sub(_DEAD, one) == other for one, other in changed
    )


def _table_agrees(claimed: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the last column of a table, which asks for equality, is True in all rows, and was not.

    The numbers of a row that was False are numbers that this row showed before.
    """
    before = [line for line in claimed if _ANSWER.search(line)]
    now = [line for line in lines if _ANSWER.search(line)]
    heads = [line for line in claimed if not _ANSWER.search(line) and _RIGHTNESS.search(line.split()[-1])]
    answers = [_ANSWER.findall(line)[0] for line in before]
    if len(before) < 2 or len(before) != len(now) or len(heads) != 1 or "False" not in answers:
        return False
    if heads[0].split() not in [line.split() for line in lines]:
        return False
    return all(_row_agrees(one, other) for one, other in zip(before, now, strict=True))


def _row_agrees(before: str, now: str) -> bool:
    one, other = (tokens_of(_ANSWER.sub(" ", line)) for line in (before, now))
    same_words = form_of(one) == form_of(other)
    known = [token for token in one if isinstance(token, Number)]
    return (
        _ANSWER.findall(now) == ["True"]
        and same_words
        and all(
            any(matches(number, token) for number in known) for token in other if isinstance(token, Number)
        )
    )
