"""Writes the search index and searches reports.

Each condition uses an index, or filters the result of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    column,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import InstrumentedAttribute, Session, defer

from app.ids import id_at
from app.judging.report.change import ChangeKind
from app.search.fields import FIELDS
from app.search.periods import Period, period
from app.search.terms import Field, Query
from app.search.tokens import tokens
from app.storage.models import ChangeRow, NodeRow, ReportCellRow, ReportRow, ReportSearchRow
from app.storage.queries.reports.text_search import as_vector, has_words, vector_of

# Long columns that a list does not need.
SLIM = (
    defer(ReportRow.text, raiseload=True),
    defer(ReportRow.reading, raiseload=True),
    defer(ReportRow.claim_text, raiseload=True),
)
NOTHING = "toolchain:"
# Fields of cells. Only together with one of these is a verdict one of a cell.
_OF_CELLS = tuple(name for name, kind in FIELDS.items() if kind.of_cell and name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query with the time and the fleet that it is resolved for.

    `toolchains` holds the names that each value means.
    """

    query: Query
    moment: datetime
    toolchains: Mapping[str, Sequence[str]]

    def values(self, field: Field) -> list[str]:
        """The values of a field as the index has them."""
        if field.name != "toolchain":
            return list(field.values)
        return [name for value in field.values for name in self.toolchains[value]]


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


def store_search(
    session: Session, report_id: str, *, rules: int, facets: Iterable[str], texts: Iterable[Sequence[str]]
) -> None:
    """Store the facets and words of a report."""
    new = {"rules": rules, "facets": sorted(set(facets)), "words": as_vector(vector_of(texts))}
    statement = insert(ReportSearchRow).values(report_id=report_id, **new)
    session.execute(statement.on_conflict_do_update(index_elements=[ReportSearchRow.report_id], set_=new))


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
    return session.scalars(statement(search, before=before, limit=limit, source_url=source_url)).all()


def statement(
    search: Search | None, *, before: str | None, limit: int, source_url: str | None = None
) -> Select[ReportRow]:
    """The statement of a search."""
    query = select(ReportRow).options(*SLIM).where(ReportRow.is_canary.is_(False))
    query = query.order_by(ReportRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ReportRow.id < before)
    if source_url is not None:
        query = query.where(ReportRow.source_url == source_url)
    if search is None:
        return query
    has, has_not = _of_search(search)
    cell = _one_cell(search)
    if cell is not None:
        # The candidates are sorted first, so that only as many cells are read as fill the page.
        older = [] if before is None else [ReportSearchRow.report_id < before]
        likely = (
            select(ReportSearchRow.report_id)
            .where(*has, *has_not, *older)
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
    return query.where(*_of_reports(search))


def _of_search(search: Search) -> tuple[list[ColumnElement[bool]], list[ColumnElement[bool]]]:
    """The conditions on the index that must hold, and those that must not."""
    query = search.query
    has = [_has(_facets(search, field)) for field in (*_cell_fields(query), *query.fields("cause"))]
    facets = [_facets(search, field) for field in query.fields(*_OF_CELLS, "cause", negated=True)]
    has_not = [not_(_has(some)) for some in facets]
    for term in (*query.words(), *query.words(negated=True)):
        words = tokens(term.text)
        if words:
            holds = has_words(ReportSearchRow.words, words, whole=term.quoted)
            (has_not if term.negated else has).append(not_(holds) if term.negated else holds)
    return has, has_not


def _has(facets: Iterable[str]) -> ColumnElement[bool]:
    """Whether the report or one of its cells has one of these facets."""
    return _overlap(ReportSearchRow.facets, facets)


def _overlap(array: Any, values: Iterable[str]) -> ColumnElement[bool]:
    shares: ColumnElement[bool] = array.overlap(list(values) or [NOTHING])
    return shares


def _facets(search: Search, field: Field) -> list[str]:
    return [f"{field.name}:{value}" for value in search.values(field)]


def _cell_fields(query: Query) -> list[Field]:
    fields = query.fields(*_OF_CELLS)
    return [*fields, *query.fields("verdict")] if fields else []


def _one_cell(search: Search) -> ColumnElement[bool] | None:
    """Whether a single cell has all values. None if the index alone can answer."""
    cell_fields = _cell_fields(search.query)
    if len(cell_fields) < 2:
        return None
    cell = (
        select(literal(1))
        .where(ReportCellRow.report_id == ReportRow.id, *(_in_cell(search, field) for field in cell_fields))
        .limit(1)
    )
    # Not EXISTS, which Postgres turns into a join that may read all cells. It expects this form to hold for
    # most reports.
    return cell.correlate(ReportRow).scalar_subquery().is_not(None)


_ONE = {
    "toolchain": ReportCellRow.toolchain,
    "device": ReportCellRow.device,
    "node": ReportCellRow.node,
    "verdict": ReportCellRow.verdict,
}
_SEVERAL = {
    "setting": ReportCellRow.settings,
    "outcome": ReportCellRow.outcomes,
    "exception": ReportCellRow.exceptions,
    "hardware": ReportCellRow.hardware,
    "warning": ReportCellRow.warnings,
}


def _in_cell(search: Search, field: Field) -> ColumnElement[bool]:
    if field.name in _SEVERAL:
        return _overlap(_SEVERAL[field.name], field.values)
    return _ONE[field.name].in_(search.values(field))


def _of_reports(search: Search) -> list[ColumnElement[bool]]:
    """The conditions on the row of the report and on its changes."""
    query = search.query
    fields = {name: query.fields(name) for name in _OF_REPORT}
    if query.fields(*_OF_CELLS):
        fields["verdict"] = []
    conditions = [_OF_REPORT[name](search, field) for name, group in fields.items() for field in group]
    # Without a verdict, no condition on the verdict holds.
    conditions += [
        not_(func.coalesce(_OF_REPORT[name](search, field), false()))
        for name in _OF_REPORT
        for field in query.fields(name, negated=True)
    ]
    changes = query.fields("changed")
    if changes:
        conditions.append(_has_change(search, changes))
    conditions += [not_(_has_change(search, [field])) for field in query.fields("changed", negated=True)]
    return conditions


def _has_change(search: Search, fields: Sequence[Field]) -> ColumnElement[bool]:
    """Whether a single change of the report fulfils all fields."""
    holds = [or_(*(_change(search, value) for value in field.values)) for field in fields]
    return ReportRow.id.in_(select(ChangeRow.report_id).where(*holds))


def _change(search: Search, value: str) -> ColumnElement[bool]:
    if value in list(ChangeKind):
        return ChangeRow.kind == value
    return _when(ChangeRow.id, _period(search, value))


def _period(search: Search, value: str) -> Period:
    return period(value, moment=search.moment) or Period(None, None)


def _when(identity: InstrumentedAttribute[str], when: Period) -> ColumnElement[bool]:
    """Whether an id is from a period: ids sort by time."""
    since = [] if when.since is None else [identity >= id_at(when.since)]
    until = [] if when.until is None else [identity < id_at(when.until)]
    return and_(true(), *since, *until)


def _is_submitted_in(search: Search, field: Field) -> ColumnElement[bool]:
    return or_(*(_when(ReportRow.id, _period(search, value)) for value in field.values))


def _has_label(_search: Search, field: Field) -> ColumnElement[bool]:
    labels = ReportRow.__table__.columns.get("labels")
    return false() if labels is None else _overlap(labels, field.values)


def _in_state(_search: Search, field: Field) -> ColumnElement[bool]:
    """Whether the report is open or closed."""
    closed_at = ReportRow.__table__.columns.get("closed_at")
    is_open = true() if closed_at is None else closed_at.is_(None)
    return or_(*(is_open if value == "open" else not_(is_open) for value in field.values))


# The condition of each field on the row of a report.
_OF_REPORT: dict[str, Callable[[Search, Field], ColumnElement[bool]]] = {
    "verdict": lambda _, field: ReportRow.verdict.in_(field.values),
    "attention": lambda _, field: ReportRow.attention.in_(field.values),
    "submitted": _is_submitted_in,
    "label": _has_label,
    "is": _in_state,
}
