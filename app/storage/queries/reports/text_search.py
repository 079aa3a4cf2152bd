"""Writes words as `tsvector` and `tsquery`.

`app.search.tokens` splits texts into words; no dictionary is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, bindparam, cast
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

# The limits of Postgres: positions of one word, and the last position.
_MOST_PLACES, _LAST_PLACE = 255, 16_383
# Positions between two texts, so that no phrase spans both.
_GAP = 10
# Below the limit of 1 MiB for a vector.
_MOST_BYTES = 600_000


def vector_of(texts: Iterable[Sequence[str]]) -> str:
    """The words of texts with their positions, as the text of a `tsvector`.

    The end is left out if it is too long.
    """
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
    return " ".join(f"'{word}':{','.join(map(str, positions))}" for word, positions in places.items())


def as_vector(literal: str) -> ColumnElement[Any]:
    """The text of a vector as a `tsvector` in a statement."""
    return cast(bindparam(None, literal), TSVECTOR)


def vector_parameter(name: str) -> ColumnElement[Any]:
    """The parameter of a statement that takes the text of a vector."""
    return cast(bindparam(name), TSVECTOR)


def has_words(column: Any, words: Sequence[str], *, whole: bool) -> ColumnElement[bool]:
    """Whether the column has the words as a phrase. Unless `whole`, the last one may be a prefix."""
    last = "" if whole else ":*"
    literal = " <-> ".join([*(f"'{word}'" for word in words[:-1]), f"'{words[-1]}'{last}"])
    matches: ColumnElement[bool] = column.bool_op("@@")(cast(bindparam(None, literal), TSQUERY))
    return matches
