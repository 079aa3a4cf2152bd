"""Printed lines against claimed ones: numbers as values, words as words, punctuation and spacing aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.judging.numbers import Number, matches, numbers_in

Token = str | Number
_WORD = re.compile(r"[^\W\d_]\w*|[\[\](){}=<>%]|_\w+")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}(?!\.)\b")
# A line longer than this is data, not a statement; matching stays linear.
MOST_CHARACTERS = 20_000


def tokens_of(text: str) -> list[Token]:
    """Numbers and words of a text, in order; addresses are one word."""
    text = _ADDRESS.sub(" ADDRESS ", text[:MOST_CHARACTERS])
    tokens: list[Token] = []
    at = 0
    for number in numbers_in(text):
        tokens += _WORD.findall(text, at, number.start)
        tokens.append(number)
        at = number.end
    tokens += _WORD.findall(text, at)
    return tokens


def same_token(claimed: Token, seen: Token) -> bool:
    """Numbers by value at the claimed precision, words as they are."""
    if isinstance(claimed, Number) and isinstance(seen, Number):
        return matches(claimed, seen)
    return isinstance(claimed, str) and isinstance(seen, str) and claimed == seen


def same_tokens(claimed: Sequence[Token], seen: Sequence[Token]) -> bool:
    """Whether both say the same."""
    return len(claimed) == len(seen) and all(map(same_token, claimed, seen))


def contains(seen: Sequence[Token], claimed: Sequence[Token]) -> bool:
    """Whether the claimed tokens stand together in what was seen."""
    if not claimed:
        return False
    last = len(seen) - len(claimed)
    return any(same_token(claimed[0], seen[at]) and same_tokens(claimed, seen[at : at + len(claimed)]) for at in range(last + 1))


def found_lines(claimed: Iterable[str], stdout: str) -> bool:
    """Whether every claimed line is printed, in any order; or all of them together, however the lines are broken."""
    wanted = [tokens for tokens in map(tokens_of, claimed) if tokens]
    if not wanted:
        return False
    lines = [tokens for tokens in map(tokens_of, stdout.splitlines()) if tokens]
    unused = list(lines)
    for tokens in wanted:
        at = next((at for at, line in enumerate(unused) if contains(line, tokens)), None)
        if at is None:
            break
        del unused[at]
    else:
        return True
    return len(wanted) > 1 and contains([token for line in lines for token in line], [token for line in wanted for token in line])


def nearest_line(claimed: Iterable[str], stdout: str) -> str | None:
    """The first printed line that has the words of a claimed line and other numbers."""
    skeletons = [[token for token in tokens_of(line) if isinstance(token, str)] for line in claimed]
    for line in stdout.splitlines():
        words = [token for token in tokens_of(line) if isinstance(token, str)]
        if words and any(words == skeleton for skeleton in skeletons):
            return line
    return None


def fingerprint(text: str) -> tuple[str, ...]:
    """What a stream says, to tell repeats apart: exact numbers, no addresses, no spacing."""
    return tuple(token.text if isinstance(token, Number) else token for token in map_lines(text))


def map_lines(text: str) -> list[Token]:
    """The tokens of all lines."""
    return [token for line in text.splitlines() for token in tokens_of(line)]
