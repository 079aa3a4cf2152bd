"""A look at the words of a line hides no match: each text that a pattern takes holds one of its keys."""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any

import pytest

import app.intake
from app.intake.words import languages
from app.intake.words.keyed_pattern import KeyedPattern, keyed_pattern, words_of

# States of a walk through a pattern: a key was met, or the word so far. `?` stands for unknown letters.
MET = "met"
UNKNOWN = "?"


def keyed_patterns() -> list[tuple[str, KeyedPattern]]:
    """Every keyed pattern of the modules that read reports, with its name."""
    names = [info.name for info in pkgutil.walk_packages(app.intake.__path__, "app.intake.")]
    return [
        (f"{module}.{name}", value)
        for module in names
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, KeyedPattern)
    ]


def is_covered(pattern: re.Pattern[str], keys: frozenset[str], *, begins_word: bool = False) -> bool:
    """Whether each text that the pattern takes has a key as a word of its own."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    return after(tree, {"" if begins_word else UNKNOWN}, keys) == {MET}


def after(nodes: Iterable[Any], states: set[str], keys: frozenset[str]) -> set[str]:
    for code, value in nodes:
        states = after_node(code, value, states, keys)
    return states


def after_node(code: Any, value: Any, states: set[str], keys: frozenset[str]) -> set[str]:
    match code:
        case codes.BRANCH:
            result = set().union(*(after(branch, states, keys) for branch in value[1]))
        case codes.SUBPATTERN:
            result = after(value[3], states, keys)
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            result = after_repeat(*value, states, keys)
        case codes.AT | codes.ASSERT | codes.ASSERT_NOT:
            result = ended(states, keys) if ends_word(code, value) else states
        case codes.LITERAL:
            letter = chr(value).lower()
            is_word = re.fullmatch(r"\w", letter)
            result = {written(state, letter) for state in states} if is_word else ended(states, keys)
        case codes.IN if all(item[0] is codes.LITERAL for item in value):
            result = set().union(*(after([letter], states, keys) for letter in value))
        case _:
            # Some character: one of a word, or one between words.
            result = {written(state, UNKNOWN) for state in states} | ended(states, keys)
    return result


def after_repeat(least: int, most: int, inner: Any, states: set[str], keys: frozenset[str]) -> set[str]:
    once = after(inner, states, keys)
    many = after(inner, once, keys) if most > 1 else once
    return once | many if least else states | once | many


def ended(states: set[str], keys: frozenset[str]) -> set[str]:
    """The states behind the end of a word."""
    return {MET if state == MET or state in keys else "" for state in states}


def written(state: str, letter: str) -> str:
    return state if state == MET else UNKNOWN if UNKNOWN in {state, letter} else state + letter


def ends_word(code: Any, value: Any) -> bool:
    """Whether no letter of a word can follow."""
    if code is codes.AT:
        return value in {codes.AT_BOUNDARY, codes.AT_END}
    ahead = [item for node in value[1] if node[0] is codes.IN for item in node[1]]
    return code is codes.ASSERT_NOT and value[0] == 1 and (codes.CATEGORY, codes.CATEGORY_WORD) in ahead


@pytest.mark.parametrize(("name", "each"), keyed_patterns())
def test_each_text_that_a_pattern_takes_has_a_key(name: str, each: KeyedPattern) -> None:
    assert is_covered(each.pattern, each.keys), name


@pytest.mark.parametrize(("english", "phrases"), languages._WORDS)
def test_each_phrase_of_another_language_has_a_key(english: str, phrases: tuple[str, ...]) -> None:
    for phrase in phrases:
        pattern = re.compile(rf"(?:{phrase})(?![\w-])", re.IGNORECASE)
        assert is_covered(pattern, languages._KEYS, begins_word=True), (english, phrase)


@pytest.mark.parametrize(
    ("keys", "pattern"),
    [
        ("fail", r"\bfails?\b"),
        ("fail fails", r"fails?\b"),
        ("fail fails", r"\bfails?"),
        ("works", r"\b(?:works|is fine)\b"),
        ("not", r"\b(?:not )?always\b"),
        ("one", r"\bone\w*\b"),
    ],
)
def test_a_pattern_that_does_without_its_keys_is_seen(keys: str, pattern: str) -> None:
    each = keyed_pattern(keys, pattern)
    assert not is_covered(each.pattern, each.keys)


def test_a_keyed_pattern_finds_what_its_pattern_finds() -> None:
    each = keyed_pattern("fail fails", r"\bfails? (?:on|with) \w+")
    match = each.search("It FAILS on Windows.")
    assert match is not None
    assert match[0] == "FAILS on Windows"
    assert each.search("It fails.") is None
    assert each.search("It failson Windows.") is None


def test_the_words_of_a_text() -> None:
    assert words_of("Don't use `a_b`: es läuft.") == {"don", "t", "use", "a_b", "es", "läuft"}
