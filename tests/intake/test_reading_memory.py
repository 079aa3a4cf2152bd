"""What a function said about a text is remembered for one reading, and no longer."""

from __future__ import annotations

from app.intake.code.syntax import tree_of
from app.intake.memory import reading_memory, remembers

QUESTIONS: list[str] = []


@remembers(most_characters=300)
def length(text: str) -> int:
    """The length of a text. It notes what it was asked."""
    QUESTIONS.append(text)
    return len(text)


def asked(*texts: str) -> list[str]:
    """The questions that reach the function."""
    QUESTIONS.clear()
    for text in texts:
        assert length(text) == len(text)
    return [*QUESTIONS]


def test_a_question_is_answered_once_in_a_reading() -> None:
    with reading_memory():
        assert asked("a", "b", "a", "b") == ["a", "b"]


def test_nothing_is_remembered_between_readings() -> None:
    with reading_memory():
        assert asked("a") == ["a"]
    with reading_memory():
        assert asked("a") == ["a"]
    assert asked("a", "a") == ["a", "a"]


def test_the_oldest_answers_are_dropped_when_the_texts_are_long() -> None:
    with reading_memory():
        assert asked("a" * 200, "b" * 100, "b" * 100, "a" * 200) == ["a" * 200, "b" * 100, "a" * 200]
        assert asked("c" * 1000, "c" * 1000) == ["c" * 1000]


def test_an_answer_of_none_is_remembered_too() -> None:
    with reading_memory():
        assert tree_of("def f(:") is None
        assert tree_of("def f(:") is None
        assert tree_of("x = 1") is tree_of("x = 1")
