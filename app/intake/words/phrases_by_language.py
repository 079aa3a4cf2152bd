"""Phrases of claims in languages that write spaces between words, and the English ones that replace them.

`phrases/` has a file for each language. A phrase has words that are no English ones. `/` stands between words
of which one is there, and `( )` around one that may be absent. A phrase that ends with `:` is a caption: its
colon follows, or it is the whole line. One that ends with `…` stands before a value only, and one that begins
with it after one.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path

from app.intake.words.keyed_pattern import key_set

_FILES = Path(__file__).with_name("phrases")
_WORD = re.compile(r"\w+")
_BEGIN_VALUES = tuple("`0123456789[({<'\"«„“-")
_END_VALUES = tuple("`0123456789])}>'\"»”.")
_CONSTANTS = ("True", "False", "None", "nan", "NaN", "inf")
_MOST_BESIDE = 8
# Phrases that begin with these go on with a word that is no English one.
_ALSO_ENGLISH = key_set(
    "at da die do en es file il in is it line me no non on or par per pro real see se si "
    "set so son sort the to was we with hat man sale error output program der das la le el al as "
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a phrase, the signs between them, where it may stand, and its English words."""

    words: tuple[str, ...]
    between: tuple[str, ...]
    begins: str
    ends: str
    english: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """A span of a line and its English words."""

    start: int
    end: int
    english: str


def has_phrases(words: frozenset[str]) -> bool:
    """False if these words are those of no phrase. Most lines hold none."""
    return not _keys().isdisjoint(words)


def replacements_of(line: str) -> Iterator[Replacement]:
    """The phrases of a line from left to right. At each place the longest one counts."""
    phrases = _phrases()
    spans = [match.span() for match in _WORD.finditer(line)]
    words = [line[start:end].lower() for start, end in spans]
    at = 0
    while at < len(words):
        phrase = next(
            (each for each in phrases.get(words[at], ()) if _stands(each, line, words, spans, at)), None
        )
        if phrase is not None:
            end = at + len(phrase.words)
            yield Replacement(spans[at][0], spans[end - 1][1], phrase.english)
            at = end
        else:
            at += 1


def _stands(
    phrase: Phrase, line: str, words: Sequence[str], spans: Sequence[tuple[int, int]], at: int
) -> bool:
    end = at + len(phrase.words)
    if tuple(words[at:end]) != phrase.words:
        return False
    between = (line[spans[each][1] : spans[each + 1][0]] for each in range(at, end - 1))
    return (
        tuple(signs.replace("’", "'").replace("\u00a0", " ") for signs in between) == phrase.between
        and _may_begin(phrase, line, spans[at][0])
        and _may_end(phrase, line, spans[at][0], spans[end - 1][1])
    )


def _may_begin(phrase: Phrase, line: str, start: int) -> bool:
    before = line[max(0, start - _MOST_BESIDE) : start]
    if not phrase.begins:
        return not before.endswith("-")
    return before.removesuffix(" ").endswith((*_END_VALUES, *_CONSTANTS))


def _may_end(phrase: Phrase, line: str, start: int, end: int) -> bool:
    after = line[end : end + _MOST_BESIDE]
    match phrase.ends:
        case ":":
            rest = after.lstrip("*_ \u00a0")
            return rest.startswith(":") if rest else _is_first(line, start)
        case "…":
            return after.lstrip(": \u00a0").startswith((*_BEGIN_VALUES, *_CONSTANTS))
    return not after.startswith("-")


def _is_first(line: str, start: int) -> bool:
    return start <= _MOST_BESIDE and not line[:start].strip("#*_-.) 0123456789")


@cache
def _phrases() -> Mapping[str, tuple[Phrase, ...]]:
    by_word: dict[str, dict[Phrase, None]] = defaultdict(dict)
    for file in sorted(_FILES.glob("*.toml")):
        for english, texts in tomllib.loads(file.read_text("utf-8")).items():
            for text in texts:
                for phrase in _written_out(text, english):
                    by_word[phrase.words[0]][phrase] = None
    return {word: tuple(sorted(phrases, key=_order)) for word, phrases in by_word.items()}


@cache
def _keys() -> frozenset[str]:
    return frozenset(
        next((word for word in phrase.words if len(word) > 1 and word not in _ALSO_ENGLISH), phrase.words[-1])
        for phrases in _phrases().values()
        for phrase in phrases
    )


def _order(phrase: Phrase) -> tuple[int, bool]:
    return -len(phrase.words), not (phrase.begins or phrase.ends)


def _written_out(text: str, english: str) -> Iterator[Phrase]:
    """The phrase with each choice of its words."""
    begins, ends = text[:1] if text[0] == "…" else "", text[-1] if text[-1] in ":…" else ""
    choices = [_choices(word) for word in text.strip("…: ").split(" ")]
    for words in product(*choices):
        line = " ".join(word for word in words if word)
        spans = [match.span() for match in _WORD.finditer(line)]
        yield Phrase(
            tuple(line[start:end].lower() for start, end in spans),
            tuple(line[one[1] : other[0]] for one, other in pairwise(spans)),
            begins,
            ends,
            english,
        )


def _choices(word: str) -> list[str]:
    if word.startswith("("):
        return [*word.strip("()").split("/"), ""]
    return word.split("/")
