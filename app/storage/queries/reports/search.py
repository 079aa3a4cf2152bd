"""Writes the search index and searches reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from sqlalchemy import Select, Table, and_, column, delete, exists, func, select, text, true, update
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert
from sqlalchemy.orm import Session, defer

from app.search.tokens import tokens
from app.storage.models import NodeRow, ReportCellRow, ReportRow, ReportSearchRow
from app.storage.queries.reports.search_conditions import (
    Search,
    has_change,
    of_index,
    of_reports,
    one_cell,
)
from app.storage.queries.reports.text_search import as_vector, vector_of, vector_parameter

# How many reports match depends on the values. After some searches of one form Postgres would take one plan
# for all values, which may read all reports. To plan takes less than a millisecond.
_PLAN_FOR_VALUES = text("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")
# Long columns that a list does not need.
SLIM = (
    defer(ReportRow.text, raiseload=True),
    defer(ReportRow.reading, raiseload=True),
    defer(ReportRow.claim_text, raiseload=True),
    defer(ReportRow.earlier_claims, raiseload=True),
)


def store_cells(session: Session, cells: Sequence[Mapping[str, Any]]) -> None:
    """Store cells, given by column name. An older row of the same cell is replaced.

    Rows are written in the order of their keys, so that two runs never wait for each other in a circle.
    """
    if not cells:
        return
    key = ("report_id", "script", "label")
    rows = {tuple(cell[name] for name in key): dict(cell) for cell in cells}
    statement = insert(ReportCellRow)
    changed = {
        column.name: statement.excluded[column.name]
        for column in ReportCellRow.__table__.columns
        if column.name not in key
    }
    session.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=changed),
        [rows[identity] for identity in sorted(rows)],
    )


def cells_of(session: Session, report_id: str) -> Sequence[ReportCellRow]:
    """The cells of a report, as they are now."""
    query = (
        select(ReportCellRow)
        .where(ReportCellRow.report_id == report_id)
        .order_by(ReportCellRow.script, ReportCellRow.label)
    )
    return session.scalars(query, execution_options={"populate_existing": True}).all()


def delete_cells(session: Session, report_id: str) -> None:
    """Delete the cells of a report, before all its runs are indexed again. The caller commits."""
    session.execute(delete(ReportCellRow).where(ReportCellRow.report_id == report_id))


def store_search(
    session: Session, report_id: str, *, rules: int, facets: Iterable[str], texts: Iterable[Sequence[str]]
) -> None:
    """Store the facets and words of a report."""
    values = {
        "report_id": report_id,
        "rules": rules,
        "facets": sorted(set(facets)),
        "vector": vector_of(texts),
    }
    session.connection().execute(_insert_search(), values)


@cache
def _insert_search() -> Insert:
    """Built once: that takes longer than the statement."""
    new = insert(cast("Table", ReportSearchRow.__table__)).values(words=vector_parameter("vector"))
    changed = {name: new.excluded[name] for name in ("rules", "facets", "words")}
    return new.on_conflict_do_update(index_elements=[ReportSearchRow.report_id], set_=changed)


def delete_words(session: Session, report_id: str) -> None:
    """Delete the words of a report and its cells, so that no search finds a withdrawn text.

    The caller commits.
    """
    session.execute(update(ReportCellRow).where(ReportCellRow.report_id == report_id).values(output=""))
    session.execute(
        update(ReportSearchRow).where(ReportSearchRow.report_id == report_id).values(words=as_vector(""))
    )


def not_searchable(session: Session, *, rules: int, limit: int) -> Sequence[str]:
    """The ids of reports that are not indexed, or by older rules; newest first."""
    current = exists().where(ReportSearchRow.report_id == ReportRow.id, ReportSearchRow.rules >= rules)
    return session.scalars(
        select(ReportRow.id)
        .where(~current, ReportRow.is_canary.is_(False))
        .order_by(ReportRow.id.desc())
        .limit(limit)
    ).all()


def toolchains_seen(session: Session) -> list[str]:
    """The toolchains of all cells. Skips from one value to the next in the index."""
    first = select(func.min(ReportCellRow.toolchain).label("name")).cte("seen", recursive=True)
    after = (
        select(func.min(ReportCellRow.toolchain))
        .where(ReportCellRow.toolchain > first.c.name)
        .scalar_subquery()
    )
    seen = first.union_all(select(after).where(first.c.name.is_not(None)))
    return list(session.scalars(select(seen.c.name).where(seen.c.name.is_not(None))))


def packages_of_toolchains(session: Session) -> dict[str, dict[str, str]]:
    """The packages of each toolchain that a node ever offered."""
    chain = (
        func.jsonb_array_elements(NodeRow.hello["toolchains"])
        .table_valued(column("facts", JSONB))
        .render_derived("chain")
        .lateral()
    )
    name, packages = chain.c.facts.op("->>")("name"), chain.c.facts.op("->", return_type=JSONB())("packages")
    rows = session.execute(select(name, packages).select_from(NodeRow).join(chain, true()).distinct())
    return {row[0]: row[1] or {} for row in rows}


def find_reports(
    session: Session, search: Search | None, *, before: str | None, limit: int, source_url: str | None = None
) -> Sequence[ReportRow]:
    """Reports older than an id that a search finds, newest first, without their texts."""
    if search is None or source_url is not None:
        return session.scalars(statement(search, before=before, limit=limit, source_url=source_url)).all()
    session.execute(_PLAN_FOR_VALUES)
    most = _most_newest(session, search, before=before, limit=limit)
    if not most:
        return session.scalars(statement(search, before=before, limit=limit)).all()
    newest = newest_that_match(search, before=before, most=most, limit=limit)
    matches = session.scalars(newest).all()
    border = None if len(matches) >= limit else _last_of_newest(session, before=before, most=most)
    if border is None:
        return matches
    rest = statement(search, before=border, limit=limit - len(matches))
    return [*matches, *session.scalars(rest).all()]


# Postgres guesses badly how many reports have a phrase, or two facets that often go together. If it guesses
# few, it reads and sorts all of them, which takes longer with each report. So if many of the first reports
# match, the newest ones are looked at one by one. An index finds the rest.
LOOKED_AT, WALKED = 60, 800
# No index finds what is missing, so that more are looked at.
WALKED_WITHOUT = 2_000


def _most_newest(session: Session, search: Search, *, before: str | None, limit: int) -> int:
    """The number of newest reports that are looked at before an index is asked."""
    if search.query.fields("changed"):
        # Few reports have changes, and those have an index.
        return 0
    has, has_not = of_index(search)
    if has_not and not has:
        return WALKED_WITHOUT
    if len(has) < 2 and all(len(tokens(word.text)) < 2 for word in search.query.words()):
        return 0
    first = newest_that_match(search, before=before, most=LOOKED_AT, limit=LOOKED_AT)
    matches = session.scalar(
        select(func.count()).select_from(first.with_only_columns(ReportRow.id).subquery())
    )
    return WALKED if (matches or 0) * WALKED >= limit * LOOKED_AT else 0


def newest_that_match(search: Search, *, before: str | None, most: int, limit: int) -> Select[ReportRow]:
    """The matches among the newest reports, of which at most `most` are looked at."""
    older = [] if before is None else [ReportSearchRow.report_id < before]
    newest = (
        select(ReportSearchRow.report_id, ReportSearchRow.facets, ReportSearchRow.words)
        .where(*older)
        .order_by(ReportSearchRow.report_id.desc())
        .limit(most)
        .subquery()
    )
    has, has_not = of_index(search, newest.c)
    cell = one_cell(search)
    return (
        select(ReportRow)
        .options(*SLIM)
        .join(newest, newest.c.report_id == ReportRow.id)
        .where(ReportRow.is_canary.is_(False), *has, *has_not, *([] if cell is None else [cell]))
        .where(*of_reports(search))
        .order_by(newest.c.report_id.desc())
        .limit(limit)
    )


def _last_of_newest(session: Session, *, before: str | None, most: int) -> str | None:
    """The oldest of the newest reports. None if there are no more than `most`."""
    older = [] if before is None else [ReportSearchRow.report_id < before]
    ids = select(ReportSearchRow.report_id).where(*older).order_by(ReportSearchRow.report_id.desc())
    return session.scalar(ids.offset(most - 1).limit(1))


def statement(
    search: Search | None, *, before: str | None, limit: int, source_url: str | None = None
) -> Select[ReportRow]:
    """The statement of a search by the indexes."""
    query = select(ReportRow).options(*SLIM).where(ReportRow.is_canary.is_(False))
    query = query.order_by(ReportRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ReportRow.id < before)
    if source_url is not None:
        query = query.where(ReportRow.source_url == source_url)
    if search is None:
        return query
    has, has_not = of_index(search)
    cell = one_cell(search)
    if cell is not None:
        # The candidates are sorted first, so that only as many cells are read as fill the page.
        older = [] if before is None else [ReportSearchRow.report_id < before]
        changes = search.query.fields("changed")
        changed = [has_change(search, changes, ReportSearchRow.report_id)] if changes else []
        likely = (
            select(ReportSearchRow.report_id)
            .where(*has, *has_not, *older, *changed)
            .order_by(ReportSearchRow.report_id.desc())
            .offset(0)
            .subquery()
        )
        query = (
            query.join(likely, likely.c.report_id == ReportRow.id)
            .where(cell)
            .order_by(None)
            .order_by(likely.c.report_id.desc())
        )
    elif has:
        query = query.join(ReportSearchRow, ReportSearchRow.report_id == ReportRow.id).where(*has, *has_not)
    elif has_not:
        # No index finds what is missing. The subquery makes Postgres check the reports one by one, newest
        # first.
        looked = select(and_(*has_not)).where(ReportSearchRow.report_id == ReportRow.id)
        query = query.where(looked.correlate(ReportRow).scalar_subquery())
    return query.where(*of_reports(search, with_changes=cell is None))
