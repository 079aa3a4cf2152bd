"""Searches of reports: parse the text, and resolve times and toolchains."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.search.parse import parse
from app.search.terms import Query
from app.search.tokens import tokens
from app.search.toolchains import matching_toolchains, toolchain_query
from app.storage.queries.reports import search as queries
from app.storage.queries.reports.search_conditions import Search
from worker.contract.text import storable_text


def parse_search(session: Session, text: str) -> Search | None:
    """Parse a search. None if it has no terms. Raises QueryError."""
    query = parse(storable_text(text))
    if not query.terms:
        return None
    return Search(query=query, moment=now(), toolchains=_toolchains(session, query))


def finds_nothing(query: Query) -> bool:
    """Whether a search can match no report, because it has only words without letters and digits."""
    return all(not tokens(word.text) for word in query.words()) and len(query.words()) == len(query.terms)


def _toolchains(session: Session, query: Query) -> dict[str, list[str]]:
    """The toolchains that each value of the field stands for, among those that a cell ran on."""
    values = {
        value
        for negated in (False, True)
        for field in query.fields("toolchain", negated=negated)
        for value in field.values
    }
    if not values:
        return {}
    packages = queries.packages_of_toolchains(session)
    known = {name: packages.get(name, {}) for name in queries.toolchains_seen(session)}
    wishes = {value: toolchain_query(value) for value in values}
    return {
        value: [] if wish is None else matching_toolchains([wish], known) for value, wish in wishes.items()
    }
