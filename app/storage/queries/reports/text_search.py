"""Words as Postgres keeps and finds them; what a word is, `app.search.tokens` says, and no dictionary of Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, bindparam, cast
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

# Postgres keeps no place beyond these.
_MOST_PLACES, _LAST_PLACE = 255, 16_383
# Between two texts, so that no phrase goes from one to the next.
_GAP = 10
# A vector has at most a MiB of words and places.
_MOST_BYTES = 600_000


def vector_of(texts: Iterable[Sequence[str]]) -> str:
    """The words of texts with their places, as `tsvector` is written. What is too much is left out at the end."""
    places: dict[str, list[int]] = {}
    at, size = 0, 0
    for words in texts:
        for word in words:
            at += 1
            known = places.get(word)
            size += 2 if known is not None else len(word.encode()) + 8
            if size > _MOST_BYTES:
                break
            if known is None:
                places[word] = [min(at, _LAST_PLACE)]
            elif len(known) < _MOST_PLACES and known[-1] < _LAST_PLACE:
                known.append(min(at, _LAST_PLACE))
        at += _GAP
    return " ".join(f"'{word}':{','.join(map(str, found))}" for word, found in places.items())


def as_vector(literal: str) -> ColumnElement[Any]:
    """A vector for a statement."""
    return cast(bindparam(None, literal), TSVECTOR)


def has_words(column: Any, words: Sequence[str], *, whole: bool) -> ColumnElement[bool]:
    """Whether the words stand in this order, side by side; unless `whole`, the last one may be the beginning of a word."""
    last = "" if whole else ":*"
    literal = " <-> ".join([*(f"'{word}'" for word in words[:-1]), f"'{words[-1]}'{last}"])
    found: ColumnElement[bool] = column.bool_op("@@")(cast(bindparam(None, literal), TSQUERY))
    return found
