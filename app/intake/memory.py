"""The memory of one reading: a pure function that is asked about the same text again need not look again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")
# The texts that a function remembers have at most so many characters together. A report has fewer.
MOST_CHARACTERS = 2_000_000
# An empty line takes space, too.
_LEAST_SIZE = 50


@dataclass(slots=True)
class _Answers:
    """The answers of one function, by the texts that it was asked about."""

    by_text: dict[str, Any] = field(default_factory=dict)
    size: int = 0

    def store(self, text: str, answer: Any, most: int) -> None:
        self.by_text[text] = answer
        self.size += _LEAST_SIZE + len(text)
        while self.size > most and len(self.by_text) > 1:
            oldest = next(iter(self.by_text))
            self.size -= _LEAST_SIZE + len(oldest)
            del self.by_text[oldest]


_MEMORY: ContextVar[dict[Callable[..., Any], _Answers] | None] = ContextVar("memory", default=None)


@contextmanager
def reading_memory() -> Iterator[None]:
    """Remember answers while a report is read. Nobody may change a remembered answer."""
    token = _MEMORY.set({})
    try:
        yield
    finally:
        _MEMORY.reset(token)


def remembers(
    most_characters: int = MOST_CHARACTERS,
) -> Callable[[Callable[[str], Answer]], Callable[[str], Answer]]:
    """Let a pure function remember its answers about the last texts while a report is read."""

    def decorate(function: Callable[[str], Answer]) -> Callable[[str], Answer]:
        @wraps(function)
        def ask(text: str) -> Answer:
            memory = _MEMORY.get()
            if memory is None:
                return function(text)
            answers = memory.get(function)
            if answers is None:
                answers = memory[function] = _Answers()
            if text in answers.by_text:
                answer: Answer = answers.by_text[text]
                return answer
            answer = function(text)
            answers.store(text, answer, most_characters)
            return answer

        return ask

    return decorate
