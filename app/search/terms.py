"""The terms of a search, and the error for a search that can't be read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import InputError

_BARE = re.compile(r"[^\s\"]+")


class QueryError(InputError):
    """A search that can't be read. `position` is the number of the wrong character, from 1."""

    code = "bad_query"

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(f"At character {position}: {message}", field="q")
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words anywhere in a report. Quoted words must stand side by side in this order."""

    text: str
    quoted: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field with its stored values, as `verdict` with `("reproduced", "flaky")`. One value must match."""

    name: str
    values: tuple[str, ...]
    negated: bool = False


Term = Words | Field


@dataclass(frozen=True, slots=True)
class Query:
    """Terms that must all match, in the typed order."""

    terms: tuple[Term, ...] = ()

    def fields(self, *names: str, negated: bool = False) -> list[Field]:
        """The terms of these fields that are negated, or those that are not."""
        return [
            term
            for term in self.terms
            if isinstance(term, Field) and term.name in names and term.negated is negated
        ]

    def words(self, *, negated: bool = False) -> list[Words]:
        """The words that are negated, or those that are not."""
        return [term for term in self.terms if isinstance(term, Words) and term.negated is negated]


def query_text(query: Query) -> str:
    """The search in its canonical spelling. Parsing that text gives the same query."""
    return " ".join(_term_text(term) for term in query.terms)


def _term_text(term: Term) -> str:
    sign = "-" if term.negated else ""
    if isinstance(term, Words):
        return sign + (quote(term.text) if term.quoted else term.text)
    return f"{sign}{term.name}:" + ",".join(
        value if _BARE.fullmatch(value) and "," not in value else quote(value) for value in term.values
    )


def quote(text: str) -> str:
    """Put a text between quotation marks and escape it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
