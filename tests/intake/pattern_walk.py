"""Walks through a pattern to see whether each text that it takes holds one of some keys."""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

# States of a walk: a key was met, or the letters so far. `?` stands for a character that is not known.
MET = "met"
UNKNOWN = "?"
BETWEEN_WORDS = ((codes.CATEGORY, codes.CATEGORY_SPACE), (codes.CATEGORY, codes.CATEGORY_NOT_WORD))
_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}


@dataclass(frozen=True)
class Walk:
    """A walk that looks for keys that are words of their own."""

    keys: Collection[str]

    def is_covered(self, pattern: re.Pattern[str], start: str = UNKNOWN) -> bool:
        """Whether each text that the pattern takes has a key. `start`: the letters before it."""
        return self.after(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), {start}) == {MET}

    def after(self, nodes: Iterable[Any], states: set[str]) -> set[str]:
        for code, value in nodes:
            states = (
                self.after_repeat(*value, states)
                if code in _REPEATS
                else self.after_node(code, value, states)
            )
        return states

    def after_repeat(self, least: int, most: int, inner: Any, states: set[str]) -> set[str]:
        once = self.after(inner, states)
        many = self.after(inner, once) if most > 1 else once
        return once | many if least else states | once | many

    def after_node(self, code: Any, value: Any, states: set[str]) -> set[str]:
        match code:
            case codes.BRANCH:
                result = set().union(*(self.after(branch, states) for branch in value[1]))
            case codes.SUBPATTERN:
                result = self.after(value[3], states)
            case codes.AT | codes.ASSERT | codes.ASSERT_NOT:
                result = self.at_end_of_word(states) if ends_word(code, value) else states
            case codes.LITERAL:
                result = self.after_letter(chr(value).lower(), states)
            case codes.IN if all(item[0] is codes.LITERAL or item in BETWEEN_WORDS for item in value):
                result = set().union(*(self.after([item], states) for item in value))
            case codes.CATEGORY:
                # Only those between words come here.
                result = self.after_letter(" ", states)
            case _:
                # Some character: one of a word, or one between words.
                result = {self.written(state, UNKNOWN) for state in states} | self.at_end_of_word(states)
        return result

    def after_letter(self, letter: str, states: set[str]) -> set[str]:
        is_word = re.fullmatch(r"\w", letter) is not None
        return {self.written(state, letter) for state in states} if is_word else self.at_end_of_word(states)

    def at_end_of_word(self, states: set[str]) -> set[str]:
        return {MET if state == MET or state in self.keys else "" for state in states}

    def written(self, state: str, letter: str) -> str:
        return state if state == MET else UNKNOWN if UNKNOWN in {state, letter} else state + letter


class StemWalk(Walk):
    """A walk that looks for keys anywhere, also within longer words."""

    def after_letter(self, letter: str, states: set[str]) -> set[str]:
        return {self.written(state, letter) for state in states}

    def at_end_of_word(self, states: set[str]) -> set[str]:
        return states

    def written(self, state: str, letter: str) -> str:
        if state == MET:
            return state
        text = state + letter
        # Only letters that a key begins with count.
        while text and not any(key.startswith(text) for key in self.keys):
            text = text[1:]
        return MET if text in self.keys else text


def ends_word(code: Any, value: Any) -> bool:
    """Whether no word goes on here."""
    if code is codes.AT:
        return value in {codes.AT_BOUNDARY, codes.AT_BEGINNING, codes.AT_END}
    ahead = [item for node in value[1] if node[0] is codes.IN for item in node[1]]
    return code is codes.ASSERT_NOT and value[0] == 1 and (codes.CATEGORY, codes.CATEGORY_WORD) in ahead
