"""The difference of two printed texts: aligned lines, with the distances of numbers that differ."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.judging.comparison.alignment import MOST_PAIRS, Block, unequal_blocks
from app.judging.output.printed_lines import MOST_CHARACTERS as LONGEST_READ
from app.judging.output.printed_lines import tokens_of, without_times
from app.judging.output.printed_numbers import Number, numbers_in, same_value

MOST_ROWS = 100
MOST_CHARACTERS = 400
# The count of characters that are shown of a long line before the first difference.
LEAD = 80
MOST_NUMBERS = 8

Meaning = tuple[str, ...]


class TextResult(StrEnum):
    """The result of a comparison of two texts."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"  # the same values in another spelling or order
    DIFFERENT = "different"
    UNKNOWN = "unknown"  # the stored parts are the same, but parts that were cut are not


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Piece(_Part):
    """A piece of a line. `differs` marks the pieces that differ."""

    text: str
    differs: bool = False


class NumberDistance(_Part):
    """Two numbers at the same position of a line.

    `relative` is the distance divided by the baseline. Distances are null if a number is not finite.
    """

    baseline: str
    candidate: str
    absolute: float | None = None
    relative: float | None = None


class Row(_Part):
    """A line on each side.

    A side without the line has no line number. Rows with `same` are shown for context.
    """

    baseline_line: int | None = None
    candidate_line: int | None = None
    baseline: list[Piece] = Field(default_factory=list)
    candidate: list[Piece] = Field(default_factory=list)
    same: bool = False
    numbers: list[NumberDistance] = Field(default_factory=list)


class TextDiff(_Part):
    """The difference of two texts. The rows are hostile text, cut short."""

    result: TextResult
    lines_baseline: int = 0
    lines_candidate: int = 0
    first_baseline: int | None = None
    first_candidate: int | None = None
    differing_lines: int = 0
    rows: list[Row] = Field(default_factory=list)
    rows_omitted: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A stream as it is stored.

    `cut` if a part is missing; `digest` is that of the whole stream, if known.
    """

    text: str
    digest: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two aligned lines. For a missing line, `at` or `there` is its position."""

    one: int | None
    other: int | None
    at: int
    there: int


def same_bytes(one: Text, other: Text) -> bool:
    """Whether both streams are the same, by their digests, or by their stored texts without digests."""
    return one.digest == other.digest if one.digest and other.digest else one.text == other.text


def meaning(line: str) -> Meaning:
    """The words and numbers of a line in one spelling, so that equal values compare equal."""
    tokens = tuple(
        repr(complex(0, token.value) if token.imaginary else token.value)
        if isinstance(token, Number)
        else token
        for token in tokens_of(without_times(line))
    )
    # The end of a very long line is compared letter by letter.
    return tokens if len(line) <= LONGEST_READ else (*tokens, line[LONGEST_READ:])


def text_diff(baseline: Text, candidate: Text) -> TextDiff:
    """Compare two texts line by line. Durations, dates and addresses do not count."""
    one, other = baseline.text.splitlines(), candidate.text.splitlines()
    facts = {"lines_baseline": len(one), "lines_candidate": len(other)}
    note = (
        "The part that was cut from the middle of a stream is not compared."
        if baseline.cut or candidate.cut
        else ""
    )
    if same_bytes(baseline, candidate):
        return TextDiff(result=TextResult.IDENTICAL, **facts)
    if baseline.text == candidate.text:
        return TextDiff(
            result=TextResult.UNKNOWN, note="The two differ in a part that was not stored.", **facts
        )
    left, right = _meanings(one), _meanings(other)
    if Counter(filter(None, left)) == Counter(filter(None, right)):
        if note:
            return TextDiff(
                result=TextResult.UNKNOWN, note="The two may differ in a part that was not stored.", **facts
            )
        reordered = list(filter(None, left)) != list(filter(None, right))
        return TextDiff(
            result=TextResult.EQUIVALENT,
            note="The same lines in another order." if reordered else "",
            **facts,
        )
    pairs = list(_pairs(_by_words(unequal_blocks(left, right), left, right), left, right))
    rows = _rows(pairs[:MOST_ROWS], one, other)
    return TextDiff(
        result=TextResult.DIFFERENT,
        first_baseline=next((pair.one + 1 for pair in pairs if pair.one is not None), None),
        first_candidate=next((pair.other + 1 for pair in pairs if pair.other is not None), None),
        differing_lines=len(pairs),
        rows=rows,
        rows_omitted=max(0, len(pairs) - MOST_ROWS),
        note=note,
        **facts,
    )


def _meanings(lines: Sequence[str]) -> list[Meaning]:
    """The meaning of each line. Equal lines are read once."""
    known = {line: meaning(line) for line in dict.fromkeys(lines)}
    return [known[line] for line in lines]


def _by_words(blocks: Sequence[Block], left: Sequence[Meaning], right: Sequence[Meaning]) -> Iterator[Block]:
    """The blocks, split so that lines with the same words but other numbers are aligned."""
    narrow = sum((block[1] - block[0]) * (block[3] - block[2]) for block in blocks) <= MOST_PAIRS
    for i, until_i, j, until_j in blocks:
        if not narrow or until_i - i == until_j - j or until_i == i or until_j == j:
            yield i, until_i, j, until_j
            continue
        words = [[tuple(map(_word, line)) for line in side] for side in (left[i:until_i], right[j:until_j])]
        at, there = i, j
        for one, until_one, other, until_other in unequal_blocks(words[0], words[1]):
            yield at, i + one, there, j + other
            yield i + one, i + until_one, j + other, j + until_other
            at, there = i + until_one, j + until_other
        yield at, until_i, there, until_j


def _word(token: str) -> str:
    return "0" if token.lstrip("-(")[:1].isdigit() or token in {"nan", "inf", "-inf"} else token


def _pairs(blocks: Iterable[Block], left: Sequence[Meaning], right: Sequence[Meaning]) -> Iterator[_Pair]:
    """The aligned lines that differ. Blank lines do not count."""
    for i, until_i, j, until_j in blocks:
        for step in range(max(until_i - i, until_j - j)):
            at, there = min(i + step, until_i), min(j + step, until_j)
            one, other = at if at < until_i else None, there if there < until_j else None
            if (() if one is None else left[one]) != (() if other is None else right[other]):
                yield _Pair(one, other, at, there)


def _rows(pairs: Sequence[_Pair], one: Sequence[str], other: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for pair in pairs:
        i, j = pair.at, pair.there
        if i > 0 and j > 0 and one[i - 1] == other[j - 1] and one[i - 1].strip():
            rows.append(
                Row(
                    baseline_line=i,
                    candidate_line=j,
                    baseline=_plain(one[i - 1]),
                    candidate=_plain(other[j - 1]),
                    same=True,
                )
            )
        left = None if pair.one is None else one[pair.one]
        rows.append(_row(pair.one, pair.other, left, None if pair.other is None else other[pair.other]))
    return rows


def _plain(line: str) -> list[Piece]:
    return [Piece(text=line if len(line) <= MOST_CHARACTERS else line[:MOST_CHARACTERS] + "…")]


def _row(i: int | None, j: int | None, left: str | None, right: str | None) -> Row:
    numbers = {"baseline_line": None if i is None else i + 1, "candidate_line": None if j is None else j + 1}
    if left is None or right is None:
        sides = [
            [] if line is None else [Piece(text=_plain(line)[0].text, differs=True)] for line in (left, right)
        ]
        return Row(baseline=sides[0], candidate=sides[1], **numbers)
    left, right = _window(left, right)
    distances, spans = _by_numbers(left, right)
    if not spans:
        spans = [_by_ends(left, right)]
    return Row(
        baseline=_pieces(left, [span[0] for span in spans]),
        candidate=_pieces(right, [span[1] for span in spans]),
        numbers=distances[:MOST_NUMBERS],
        **numbers,
    )


def _window(left: str, right: str) -> tuple[str, str]:
    """The parts of two long lines around their first difference."""
    if max(len(left), len(right)) <= MOST_CHARACTERS:
        return left, right
    first = next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )
    start = max(0, first - LEAD)
    # The start moves left, so that no number is cut.
    tail = _TAIL.search(left[:start])
    start -= 0 if tail is None else len(tail[0])
    windows = [
        line[start : start + MOST_CHARACTERS] + ("…" if len(line) > start + MOST_CHARACTERS else "")
        for line in (left, right)
    ]
    lead = "…" if start else ""
    return lead + windows[0], lead + windows[1]


_TAIL = re.compile(r"[\w.+-]{1,40}$")
Spans = tuple[tuple[int, int], tuple[int, int]]


def _by_numbers(left: str, right: str) -> tuple[list[NumberDistance], list[Spans]]:
    """The numbers that differ, if the rest of the two lines is the same; else empty."""
    ones, others = numbers_in(left), numbers_in(right)
    if not ones or _between(left, ones) != _between(right, others):
        return [], []
    differing = [
        (one, other)
        for one, other in zip(ones, others, strict=True)
        if not same_value(one.value, other.value)
    ]
    spans = [((one.start, one.end), (other.start, other.end)) for one, other in differing]
    return [_distance(one, other) for one, other in differing], spans


def _between(line: str, numbers: Sequence[Number]) -> list[str]:
    """The texts between the numbers of a line, without spaces."""
    edges = [0, *(edge for number in numbers for edge in (number.start, number.end)), len(line)]
    return ["".join(line[start:end].split()) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _distance(one: Number, other: Number) -> NumberDistance:
    absolute = relative = None
    if math.isfinite(one.value) and math.isfinite(other.value):
        apart = abs(other.value - one.value)
        absolute = apart if math.isfinite(apart) else None
        ratio = apart / abs(one.value) if one.value else math.inf
        relative = ratio if math.isfinite(ratio) else None
    return NumberDistance(baseline=one.text, candidate=other.text, absolute=absolute, relative=relative)


def _by_ends(left: str, right: str) -> Spans:
    """The spans between the common beginning and the common end of two lines."""
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    end = next((at for at in range(shorter - start) if left[-1 - at] != right[-1 - at]), shorter - start)
    return (start, len(left) - end), (start, len(right) - end)


def _pieces(line: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        pieces += [Piece(text=line[at:start]), Piece(text=line[start:end], differs=True)]
        at = end
    return [piece for piece in (*pieces, Piece(text=line[at:])) if piece.text]
