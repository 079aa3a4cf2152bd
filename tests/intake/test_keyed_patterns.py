"""A look at the words of a line hides no match: each text that a pattern takes holds one of its keys."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from intake.pattern_walk import StemWalk, Walk

import app.intake
from app.intake.text import claimed_environment, follow_ups
from app.intake.words import languages
from app.intake.words.keyed_pattern import KeyedPattern, keyed_pattern, words_of


def keyed_patterns() -> list[tuple[str, KeyedPattern]]:
    """Every keyed pattern of the modules that read reports, with its name."""
    names = [info.name for info in pkgutil.walk_packages(app.intake.__path__, "app.intake.")]
    return [
        (f"{module}.{name}", value)
        for module in names
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, KeyedPattern)
    ]


@pytest.mark.parametrize(("name", "each"), keyed_patterns())
def test_each_text_that_a_pattern_takes_has_a_key(name: str, each: KeyedPattern) -> None:
    assert Walk(each.keys).is_covered(each.pattern), name


@pytest.mark.parametrize(("english", "phrases"), languages._WORDS)
def test_each_phrase_of_another_language_has_a_key(english: str, phrases: tuple[str, ...]) -> None:
    for phrase in phrases:
        pattern = re.compile(rf"(?:{phrase})(?![\w-])", re.IGNORECASE)
        assert Walk(languages._KEYS).is_covered(pattern, start=""), (english, phrase)


@pytest.mark.parametrize(("name", "pattern", "keys"), claimed_environment._FIELDS)
def test_each_field_of_an_environment_has_a_key(
    name: str, pattern: re.Pattern[str], keys: tuple[str, ...]
) -> None:
    assert not keys or StemWalk(keys).is_covered(pattern), name


def test_each_line_that_introduces_a_comment_has_a_stem() -> None:
    assert StemWalk(follow_ups._STEMS).is_covered(follow_ups._LINE)


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
    assert not Walk(each.keys).is_covered(each.pattern)


@pytest.mark.parametrize(("keys", "pattern"), [("torch", r"(?:py)?(?:torch|thon)"), ("abc", "ab?c")])
def test_a_pattern_that_does_without_a_stem_is_seen(keys: str, pattern: str) -> None:
    assert StemWalk(keys.split()).is_covered(re.compile(f"x{keys}y"))
    assert not StemWalk(keys.split()).is_covered(re.compile(pattern))


def test_a_keyed_pattern_finds_what_its_pattern_finds() -> None:
    each = keyed_pattern("fail fails", r"\bfails? (?:on|with) \w+")
    match = each.search("It FAILS on Windows.")
    assert match is not None
    assert match[0] == "FAILS on Windows"
    assert each.search("It fails.") is None
    assert each.search("It failson Windows.") is None


def test_the_words_of_a_text() -> None:
    assert words_of("Don't use `a_b`: es läuft.") == {"don", "t", "use", "a_b", "es", "läuft"}
