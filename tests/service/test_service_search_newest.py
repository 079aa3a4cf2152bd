"""A search that looks at the newest reports one by one finds the same as one that asks an index."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, literal, select, text, update
from stage import Stage

from app.ids import new_id
from app.runs.lookup.reports import list_reports
from app.search.tokens import tokens
from app.storage.models import ReportRow
from app.storage.queries.reports import search as module

COUNT = 40
# Every third report has the phrase, and every seventh lacks the word of all others.
PHRASE, WORD = "index out of range", "logdet"


@pytest.fixture
def ids(stage: Stage) -> list[str]:
    """The ids of many reports, newest first; the last one has other words.

    One with the phrase is a canary, which no list shows.
    """
    first = stage.submit().document.report.id
    names = sorted({new_id() for _ in range(COUNT)}, reverse=True)
    others = [
        column for column in ReportRow.__table__.columns if column.name not in {"id", "withdraw_digest"}
    ]
    with stage.session() as session:
        for number, name in enumerate(names):
            row = select(literal(name), *others).where(ReportRow.id == first)
            session.execute(insert(ReportRow).from_select(["id", *(each.name for each in others)], row))
            texts = [
                tokens(PHRASE if number % 3 == 0 else "range of index"),
                tokens("before" if number < 30 else "old"),
            ]
            texts += [] if number % 7 == 0 else [tokens(WORD)]
            module.store_search(session, name, rules=1, facets=["device:cpu"], texts=texts)
        session.execute(update(ReportRow).where(ReportRow.id == names[3]).values(is_canary=True))
    return [*names, first or ""]


def listed(stage: Stage, query: str, *, limit: int) -> list[str]:
    """All pages of a search."""
    found: list[str] = []
    cursor: str | None = None
    with stage.session() as session:
        while True:
            page = list_reports(session, query=query, limit=limit, cursor=cursor)
            found += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return found


def test_each_report_is_found_once_and_in_order(
    stage: Stage, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 6)
    shown = [(number, name) for number, name in enumerate(ids[:-1]) if number != 3]
    phrase = [name for number, name in shown if number % 3 == 0]
    without = [name for number, name in shown if number % 7 == 0]
    expected = {
        f'"{PHRASE}"': phrase,
        f'"{PHRASE}" device:cpu -{WORD}': [name for name in phrase if name in without],
        f'"{PHRASE}" old': [name for name in phrase if ids.index(name) >= 30],
        f"-{WORD}": [*without, ids[-1]],
        '"of range index"': [],
        f'"{PHRASE}" attention:fixed': [],
    }
    # With few looked at, the newest do not fill a page, and an index finds the rest; with many they are all.
    for walked in (8, 39, 40, 500):
        monkeypatch.setattr(module, "WALKED", walked)
        monkeypatch.setattr(module, "WALKED_WITHOUT", walked)
        for limit in (2, 5, 100):
            found = {query: listed(stage, query, limit=limit) for query in expected}
            assert found == expected, (walked, limit)


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many of the newest reports each statement looks at."""
    monkeypatch.setattr(module, "LOOKED_AT", 12)
    monkeypatch.setattr(module, "WALKED", 24)
    walks: list[int] = []
    walk = module.newest_that_match
    monkeypatch.setattr(
        module,
        "newest_that_match",
        lambda *some, **named: (walks.append(named["most"]), walk(*some, **named))[1],
    )
    return walks


def test_a_common_phrase_is_looked_for_among_the_newest_and_a_rare_one_by_an_index(
    stage: Stage, ids: list[str], walks: list[int]
) -> None:
    assert listed(stage, f'"{PHRASE}"', limit=5)[0] == ids[0]
    assert 24 in walks
    walks.clear()
    listed(stage, f'"{PHRASE}" old', limit=5)
    assert walks[:1] == [12]
    assert 24 not in walks[:2]


def test_facets_that_go_together_are_looked_for_among_the_newest_and_a_single_one_by_an_index(
    stage: Stage, ids: list[str], walks: list[int]
) -> None:
    with stage.session() as session:
        for number, name in enumerate(ids[:-1]):
            facets = ["cause:unseeded", "exception:error"] if number % 3 == 0 else ["device:cuda"]
            module.store_search(session, name, rules=1, facets=facets, texts=[tokens(WORD)])
    expected = [name for number, name in enumerate(ids[:-1]) if number % 3 == 0 and number != 3]
    assert listed(stage, "cause:unseeded exception:error", limit=5) == expected
    assert walks[:2] == [12, 24]
    walks.clear()
    assert listed(stage, "cause:unseeded", limit=5) == expected
    assert walks == []
    assert listed(stage, "cause:unseeded device:cuda", limit=5) == []
    assert walks == [12]


def test_a_search_is_planned_for_its_values_however_often_one_of_its_form_was_made(
    stage: Stage, ids: list[str]
) -> None:
    forms = ("cause:unseeded device:cpu", f'"{PHRASE}"', f"-{WORD}", "verdict:reproduced device:cpu old")
    plans = text(
        "SELECT statement, generic_plans FROM pg_prepared_statements"
        " WHERE statement LIKE 'SELECT%report_search%'"
    )
    with stage.session() as session:
        for _ in range(16):
            for query in forms:
                list_reports(session, query=query, limit=5)
        prepared = session.execute(plans).all()
    assert len(prepared) >= len(forms)
    assert [row.statement for row in prepared if row.generic_plans] == []
