"""Printed literals are equal only if they are built alike and hold the same texts."""

from __future__ import annotations

import pytest

from app.judging.output.literals import other_structure
from app.judging.output.printed_lines import found_lines


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("['x', 'y', 'z']", "['x,y', 'z']"),
        ("parts: ['left right']", "parts: ['left', 'right']"),
        ("[('ab', 1)]", "[['ab', 1]]"),
        ("{'ab': 'cd'}", "{'ab': 'cd ef'}"),
        ("{'ab': ['cd']}", "{'ab': 'cd'}"),
        ("['12', '13']", "[12, '13']"),
        ("'ab', ('cd',)", "'ab', ('cd', '')"),
        ('{},"b":"b"}', '{"b":"b"}'),
        ("sum 3]", "[sum 3]"),
    ],
)
def test_texts_and_brackets_count(claimed: str, seen: str) -> None:
    assert other_structure(claimed, seen)
    assert not found_lines([claimed], seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ('["x", "y"]', "['x', 'y']"),
        ("{'ab': 1.0}", "{'ab': 1}"),
        ("['ab', -1]", "[ 'ab',  -1 ]"),
        ("{'ab', 'cd'}", "{'cd', 'ab'}"),
        ("array(['ab'], dtype=object)", "['ab']"),
        ("['ab' 'cd']", "['ab' 'cd']\n"),
        ("it's [1, 2]", "it's [1, 3]"),
        ("['ab', ", "['ab'"),
        ("3, 4]])", "3, 4]])"),
        ("smile :)", "smile :)"),
    ],
)
def test_spelling_does_not(claimed: str, seen: str) -> None:
    assert not other_structure(claimed, seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("[1, 2]", "[1, 2, 3]"),
        ("[(1, 2)]", "[(1, 2), (2, 3)]"),
        ("frozenset()", "frozenset({'x'})"),
        ("Counter()", "Counter({'a': 1})"),
        ("{'ab': 1}", "{'ab': 1, 'cd': 2}"),
        ("[1. nan]", "[1. nan 2.]"),
        ("[[1 2]", "[[1 2 3]"),
        ("tensor([1., 2.])", "tensor([1., 2., 3.])"),
        ("result: [1, 2]", "result: [1, 2, 3]"),
    ],
)
def test_a_part_of_a_longer_literal_is_another_one(claimed: str, seen: str) -> None:
    assert other_structure(claimed, seen)
    assert not found_lines([claimed], seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("[1, 2]", "[[1, 2], [3, 4]]"),
        ("[1, 2]", "[1, 2] [3]"),
        ("[1 2]", "[[1 2]"),
        ("[1 2 3", "[1 2 3 4"),
        ("tensor([1., 2.])", "tensor([1., 2.], device='cuda:0')"),
        ("1, 2", "[1, 2, 3]"),
    ],
)
def test_a_row_and_an_excerpt_are_found(claimed: str, seen: str) -> None:
    assert not other_structure(claimed, seen)
    assert found_lines([claimed], seen)


def test_a_deep_or_a_long_text_is_no_literal() -> None:
    deep = "[" * 900 + "'ab'" + "]" * 900
    assert not other_structure(deep, deep.replace("ab", "cd"))
    long = repr(["word"] * 2_000)
    assert not other_structure(long, long.replace("word", "other"))


@pytest.mark.parametrize(
    ("claimed", "printed"),
    [
        ("u'Januar 2015'", "'Januar 2015'"),
        ("[u'a', u\"b\"]", "['a', \"b\"]"),
        ("u'J\\xe4nner'", "'Jänner'"),
        ("(5L, 3L)", "(5, 3)"),
        ("<type 'int'>", "<class 'int'>"),
    ],
)
def test_what_python_2_shows_is_the_same_in_python_3(claimed: str, printed: str) -> None:
    assert found_lines([claimed], f"{printed}\n")


@pytest.mark.parametrize(("claimed", "printed"), [("u'a'", "'b'"), ("5L", "6"), ("<type 'int'>", "int")])
def test_another_value_of_python_2_is_another_value(claimed: str, printed: str) -> None:
    assert not found_lines([claimed], f"{printed}\n")
