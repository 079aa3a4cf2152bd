"""What a search asks for: terms that must all hold, each perhaps turned around; and what is said of a search that can't be read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import InputError

_BARE = re.compile(r"[^\s\"]+")


class QueryError(InputError):
    """A search that can't be read. `position` is the character at which, counted from 1."""

    code = "bad_query"

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(f"At character {position}: {message}", field="q")
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words to be found anywhere in a report; quoted ones in this order, side by side."""

    text: str
    quoted: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field with the values of which one must hold, as they are kept: `verdict` and `("reproduced", "flaky")`."""

    name: str
    values: tuple[str, ...]
    negated: bool = False


Term = Words | Field


@dataclass(frozen=True, slots=True)
class Query:
    """Terms that must all hold, in the order in which they were written."""

    terms: tuple[Term, ...] = ()

    def fields(self, *names: str, negated: bool = False) -> list[Field]:
        """The terms about these fields."""
        return [
            term
            for term in self.terms
            if isinstance(term, Field) and term.name in names and term.negated is negated
        ]

    def words(self, *, negated: bool = False) -> list[Words]:
        """The words."""
        return [term for term in self.terms if isinstance(term, Words) and term.negated is negated]


def written(query: Query) -> str:
    """The search in its one spelling; it is read as the same search again."""
    return " ".join(_written(term) for term in query.terms)


def _written(term: Term) -> str:
    sign = "-" if term.negated else ""
    if isinstance(term, Words):
        return sign + (quoted(term.text) if term.quoted else term.text)
    return f"{sign}{term.name}:" + ",".join(
        value if _BARE.fullmatch(value) and "," not in value else quoted(value) for value in term.values
    )


def quoted(text: str) -> str:
    """A text between quotation marks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
