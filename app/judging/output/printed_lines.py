"""Printed lines compared with claimed ones, by their numbers and words.

Punctuation and spacing do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.judging.output.literals import other_structure
from app.judging.output.printed_numbers import Number, matches, numbers_in, same_value

Token = str | Number
# The tokens of a line, and the line.
TokensOfLine = tuple[list[Token], str]
# Three or more numbers with dots between them are a version or an address, and count as one word.
_WORD = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?![\d.])|[^\W\d_]\w*|_\w+|[<>%]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b(?!\.)")
# `tensor(88., device='cuda:0', dtype=torch.bfloat16, grad_fn=<…>)`, `np.float64(0.5)`, `array([…],
# dtype=float32)`.
_KEYWORD = re.compile(
    r"\b(?:device='[^']{0,40}'|dtype=[\w.]{1,40}|grad_fn=<[^<>]{0,80}>"
    r"|requires_grad=(?:True|False)|size=\([\d, ]{0,80}\))"
)
_CALL = re.compile(r"\b(?:tensor|array|Array|DeviceArray|(?:np|numpy)\.\w{1,20})(?=\()")
# Since numpy 2, a truth value is printed as `np.True_`.
_NUMPY_TRUTH = re.compile(r"\b(?:np|numpy)\.(True|False)_(?!\w)")
# Python 2 shows texts as `u'a'`, long numbers as `5L`, and types as `<type 'int'>`.
_OF_PYTHON_2 = re.compile(r"(?<![\w'\"])u(?=['\"])|(?<=\d)L(?![\w'\"])|(?<=<)type(?= ')")
# It escaped all letters that are not ASCII.
_ESCAPED = re.compile(r"(?<!\\)\\(?:x([a-f89][0-9a-f])|u([0-9a-f]{4}))")
# Durations and times differ between runs without a meaning.
_TIME = re.compile(
    r"\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|minutes?|it/s)\b"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# Numbers with nothing but space between them: no list, no tuple.
_ROW = re.compile(r"[-+\w. ]+")
# Stands for a line of several numbers or words. No claim has it.
_BREAK = "\n"
# Longer lines are data. They are cut here, so that matching stays linear.
MOST_CHARACTERS = 20_000


def tokens_of(text: str) -> list[Token]:
    """The numbers and words of a line, in order. All addresses are the same word."""
    text = _ADDRESS.sub(" ADDRESS ", in_python_3(text[:MOST_CHARACTERS]))
    text = _NUMPY_TRUTH.sub(r"\1", _CALL.sub(" ", _KEYWORD.sub(" ", text)))
    tokens: list[Token] = []
    at = 0
    for number in numbers_in(text):
        tokens += _WORD.findall(text, at, number.start)
        tokens.append(number)
        at = number.end
    tokens += _WORD.findall(text, at)
    return tokens


def in_python_3(text: str) -> str:
    """A printed text as Python 3 shows it: letters for their escapes, `5` for `5L`, `<class 'int'>`."""
    if _OF_PYTHON_2.search(text) is None:
        return text
    plain = _OF_PYTHON_2.sub(lambda match: "class" if match[0] == "type" else "", text)
    return _ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), plain)


def form_of(tokens: Sequence[Token]) -> tuple[str | None, ...]:
    """The words of a text, with None in the place of each number."""
    return tuple(None if isinstance(token, Number) else token for token in tokens)


def place_of_form(claimed: Sequence[Token], seen: Sequence[Token]) -> int | None:
    """The first place where the output has the claimed form; None if there is none, or nothing is claimed."""
    form, whole = form_of(claimed), form_of(seen)
    starts = range(len(whole) - len(form) + 1)
    return next((at for at in starts if whole[at : at + len(form)] == form), None) if form else None


def same_token(claimed: Token, seen: Token) -> bool:
    """Whether two tokens are equal: numbers by value at the printed precision, words letter by letter."""
    if isinstance(claimed, Number) and isinstance(seen, Number):
        return matches(claimed, seen)
    return isinstance(claimed, str) and isinstance(seen, str) and claimed == seen


def same_tokens(claimed: Sequence[Token], seen: Sequence[Token]) -> bool:
    """Whether all tokens are equal, one by one."""
    return len(claimed) == len(seen) and all(map(same_token, claimed, seen))


def equal_tokens(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether both have the same words and exactly the same values, in any spelling."""
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: Token, other: Token) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return one.imaginary == other.imaginary and same_value(one.value, other.value)
    return isinstance(one, str) and isinstance(other, str) and one == other


def contains(seen: Sequence[Token], claimed: Sequence[Token]) -> bool:
    """Whether `seen` contains the claimed tokens in one piece. False if nothing is claimed."""
    if not claimed:
        return False
    last = len(seen) - len(claimed)
    return any(
        same_token(claimed[0], seen[at]) and same_tokens(claimed, seen[at : at + len(claimed)])
        for at in range(last + 1)
    )


def is_specific(tokens: Sequence[Token]) -> bool:
    """Whether tokens are worth a search inside a longer line: a word, several numbers, or one long number."""
    numbers = [token for token in tokens if isinstance(token, Number)]
    words = [token for token in tokens if isinstance(token, str) and len(token) > 1]
    return (
        bool(words) or len(numbers) > 1 or any(number.digits == 0 or number.digits > 3 for number in numbers)
    )


def says(line: Sequence[Token], claimed: Sequence[Token]) -> bool:
    """Whether a printed line equals the claimed one, or contains it if it is specific enough."""
    return same_tokens(claimed, line) or (is_specific(claimed) and contains(line, claimed))


def found_lines(claimed: Iterable[str], stdout: str) -> bool:
    """Whether every claimed line is printed, in any order, or all of them together with other line breaks."""
    claimed = [line.strip() for line in claimed if line.strip()]
    expected = [(tokens, line) for line in claimed if (tokens := tokens_of(line))]
    if not expected:
        # Signs alone, such as `[]`, have to stand on a line as they are.
        return bool(claimed) and set(claimed) <= {line.strip() for line in stdout.splitlines()}
    lines = [(tokens, line) for line in stdout.splitlines() if (tokens := tokens_of(line))]
    unused = list(lines)
    for tokens, claim in sorted(expected, key=lambda pair: len(pair[0]), reverse=True):
        at = next(
            (
                at
                for at, (line, text) in enumerate(unused)
                if says(line, tokens) and not other_structure(claim, text)
            ),
            None,
        )
        if at is None:
            break
        del unused[at]
    else:
        return True
    return _one_a_line(expected, lines) or (
        len(expected) > 1
        and contains(
            [token for line, _ in lines for token in line], [token for line, _ in expected for token in line]
        )
    )


def _one_a_line(
    expected: Sequence[tuple[list[Token], str]], lines: Sequence[tuple[list[Token], str]]
) -> bool:
    """Whether the bare numbers of one claimed line, as in `prints 2.0 and 0.0`, have a line each."""
    tokens, claim = expected[0]
    is_row = len(expected) == 1 < len(tokens) and all(isinstance(token, Number) for token in tokens)
    if not is_row or not _ROW.fullmatch(claim):
        return False
    return contains([line[0] if len(line) == 1 else _BREAK for line, _ in lines], tokens)


def nearest_line(claimed: Iterable[str], stdout: str) -> str | None:
    """The first printed line with the same words as a claimed line; None if there is none."""
    skeletons = [_words(line) for line in claimed]
    return next(
        (line for line in stdout.splitlines() if (words := _words(line)) and words in skeletons), None
    )


def _words(line: str) -> list[str]:
    return [token for token in tokens_of(line) if isinstance(token, str)]


def fingerprint(text: str) -> tuple[str, ...]:
    """The words and numbers of a stream without durations and dates, to compare repeats."""
    return tuple(
        token.text if isinstance(token, Number) else token
        for line in text.splitlines()
        for token in tokens_of(without_times(line))
    )


def is_duration(text: str) -> bool:
    """Whether a text has a duration and no other number. A date with a time of day is none."""
    return (
        _DATE.search(text) is None and _TIME.search(text) is not None and not numbers_in(without_times(text))
    )


def without_times(line: str) -> str:
    """The line with durations and dates replaced by fixed words."""
    line = line[:MOST_CHARACTERS]
    return _DATE.sub(" DATE ", _TIME.sub(" TIME ", line))
