"""Patterns that need one of a few words. Most lines hold none of them, which a look into a set tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.intake.memory import remembers

_WORD = re.compile(r"\w+")


@remembers()
def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case. Many patterns ask for those of one line after the other."""
    return frozenset(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class KeyedPattern:
    """A pattern, and the keys: each text in which it is found has one of them as a word."""

    pattern: re.Pattern[str]
    keys: frozenset[str]

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in a text."""
        return None if self.keys.isdisjoint(words_of(text)) else self.pattern.search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches in a text."""
        return iter(()) if self.keys.isdisjoint(words_of(text)) else self.pattern.finditer(text)


def key_set(words: str) -> frozenset[str]:
    """These words as keys."""
    return frozenset(words.split())


def keyed_pattern(keys: str, pattern: str) -> KeyedPattern:
    """The pattern with its keys, which are in lower case. Upper and lower case are the same to it."""
    return KeyedPattern(re.compile(pattern, re.IGNORECASE), key_set(keys))
