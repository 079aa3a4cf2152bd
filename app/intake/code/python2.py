"""Rewrites Python 2's `print` statement as a call. Nothing else of Python 2 is changed."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

_LAYOUT_TOKENS = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_ENDS = {tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# In `print = log` and `print.flush()` it is a name.
_A_NAME = {"=", ".", ")", "]", "}", ",", ":", "+=", "->", ":="}

# A text with more print statements than this is not rewritten.
_MOST_STATEMENTS = 2_000


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replaces the text between two places, (line, column), by another."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def with_print_calls(text: str) -> tuple[str, int]:
    """The text with calls in the place of print statements, line for line, and their number."""
    lines = text.split("\n")
    edits = list(islice(_statements(_tokens(text), lines), _MOST_STATEMENTS + 1))
    if len(edits) > _MOST_STATEMENTS:
        return text, 0
    for edit in reversed(edits):
        first, last = edit.start[0] - 1, edit.end[0] - 1
        after = lines[last][edit.end[1] :]
        lines[first : last + 1] = f"{lines[first][: edit.start[1]]}{edit.text}{after}".split("\n")
    return "\n".join(lines), len(edits)


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens, up to the place where the text is no code."""
    tokens: list[tokenize.TokenInfo] = []
    try:
        tokens.extend(
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _LAYOUT_TOKENS
        )
    except (tokenize.TokenError, SyntaxError):
        return tokens
    return tokens


def _statements(tokens: Sequence[tokenize.TokenInfo], lines: Sequence[str]) -> Iterator[_Edit]:
    at, beginning, depth = 0, True, 0
    while at < len(tokens):
        token = tokens[at]
        if beginning and token.string == "print" and token.type == tokenize.NAME:
            end = _end(tokens, at + 1)
            if edit := _edit(tokens[at:end], lines):
                yield edit
            at = end
            continue
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        beginning = token.type in {tokenize.NEWLINE, tokenize.COMMENT} or (
            depth == 0 and token.string in {";", ":"}
        )
        at += 1


def _end(tokens: Sequence[tokenize.TokenInfo], at: int) -> int:
    """The index of the token that ends the statement."""
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if depth <= 0 and (token.type in _ENDS or token.string == ";"):
            break
        at += 1
    return at


def _edit(statement: Sequence[tokenize.TokenInfo], lines: Sequence[str]) -> _Edit | None:
    """The call for one statement; None if it is a call already."""
    words = statement[1:]
    if words and (words[0].string in _A_NAME or _is_call(words)):
        return None
    keywords = []
    if words and words[0].string == ">>":
        comma = _comma(words)
        keywords.append(f"file={_source(words[1:comma], lines)}")
        words = words[comma + 1 :]
    if words and words[-1].string == ",":
        keywords.append('end=" "')
        words = words[:-1]
    arguments = [_source(words, lines)] if words else []
    return _Edit(statement[0].start, statement[-1].end, f"print({', '.join([*arguments, *keywords])})")


def _is_call(words: Sequence[tokenize.TokenInfo]) -> bool:
    """True for `print(…)` with nothing after it."""
    if words[0].string != "(":
        return False
    depth = 0
    for at, token in enumerate(words):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if depth == 0:
            return at == len(words) - 1
    return True


def _comma(words: Sequence[tokenize.TokenInfo]) -> int:
    depth = 0
    for at, token in enumerate(words):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if depth == 0 and token.string == ",":
            return at
    return len(words)


def _source(words: Sequence[tokenize.TokenInfo], lines: Sequence[str]) -> str:
    if not words:
        return ""
    (first, start), (last, end) = words[0].start, words[-1].end
    if first == last:
        return lines[first - 1][start:end]
    return "\n".join([lines[first - 1][start:], *lines[first : last - 1], lines[last - 1][:end]])
