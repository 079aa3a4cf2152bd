"""Alignment of the lines of two texts, in linear time apart from a limited number of close comparisons."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

# The most pairs of lines that difflib may compare in one alignment. It is cubic for adversarial lines.
MOST_PAIRS = 300 * 300
# Lines of the baseline from the first to the second number (excluded), then lines of the candidate.
Block = tuple[int, int, int, int]


def unequal_blocks(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Block]:
    """The blocks of lines that differ, in order. Blocks over the limit stay whole."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    blocks: list[Block] = []
    budget = MOST_PAIRS
    for gap in _gaps(one, other, (start, len(one) - end, start, len(other) - end)):
        size = (gap[1] - gap[0]) * (gap[3] - gap[2])
        if 0 < size <= budget:
            budget -= size
            blocks += _closely(one, other, gap)
        else:
            blocks.append(gap)
    return blocks


def _gaps(one: Sequence[Hashable], other: Sequence[Hashable], whole: Block) -> Iterator[Block]:
    """The blocks between anchors: lines that both texts have exactly once, in the same order."""
    i, until_i, j, until_j = whole
    for at, there in [*_anchors(one[i:until_i], other[j:until_j], i, j), (until_i, until_j)]:
        if at > i or there > j:
            yield (i, at, j, there)
        i, j = at + 1, there + 1


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], i: int, j: int) -> list[tuple[int, int]]:
    count, count_other = Counter(one), Counter(other)
    places = {line: at for at, line in enumerate(other) if count_other[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(one) if count[line] == 1 and line in places]
    return [(i + at, j + there) for at, there in _rising(pairs)]


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs in which both numbers rise."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, there) in enumerate(pairs):
        length = bisect_left(ends, there)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [there]
        last[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _closely(one: Sequence[Hashable], other: Sequence[Hashable], gap: Block) -> Iterator[Block]:
    i, until_i, j, until_j = gap
    matcher = SequenceMatcher(None, one[i:until_i], other[j:until_j], autojunk=False)
    for tag, from_one, to_one, from_other, to_other in matcher.get_opcodes():
        if tag != "equal":
            yield (i + from_one, i + to_one, j + from_other, j + to_other)
