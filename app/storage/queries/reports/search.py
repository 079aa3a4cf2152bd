"""What reports are found by: kept with each run that ends, and asked. Every condition has an index, or narrows what one found."""

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

# A list needs none of these, and they are long.
SLIM = (
    defer(ReportRow.text, raiseload=True),
    defer(ReportRow.reading, raiseload=True),
    defer(ReportRow.claim_text, raiseload=True),
)
NOTHING = "toolchain:"
# A verdict is of a cell only beside one of these.
_OF_CELLS = tuple(name for name, kind in FIELDS.items() if kind.of_cell and name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A search with what the moment and the fleet make of it: `toolchains` are the names that each value means."""

    query: Query
    moment: datetime
    toolchains: Mapping[str, Sequence[str]]

    def values(self, field: Field) -> list[str]:
        """The values of a field as cells have them."""
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
    """Delete the words of a report and its cells, so that no search finds a withdrawn text. The caller commits."""
    session.execute(update(ReportCellRow).where(ReportCellRow.report_id == report_id).values(output=""))
    session.execute(
        update(ReportSearchRow).where(ReportSearchRow.report_id == report_id).values(words=as_vector(""))
    )


def not_searchable(session: Session, *, rules: int, limit: int) -> Sequence[str]:
    """Reports that older rules, or none, made findable; the newest first."""
    current = exists().where(ReportSearchRow.report_id == ReportRow.id, ReportSearchRow.rules >= rules)
    return session.scalars(
        select(ReportRow.id).where(~current).order_by(ReportRow.id.desc()).limit(limit)
    ).all()


def toolchains_seen(session: Session) -> list[str]:
    """The toolchains of all cells, each by one look into the index."""
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


def found(
    session: Session, asked: Asked | None, *, before: str | None, limit: int, source_url: str | None = None
) -> Sequence[ReportRow]:
    """Reports older than an id that a search finds, newest first, without their texts."""
    return session.scalars(statement(asked, before=before, limit=limit, source_url=source_url)).all()


def statement(
    asked: Asked | None, *, before: str | None, limit: int, source_url: str | None = None
) -> Select[ReportRow]:
    """How a search is asked."""
    query = select(ReportRow).options(*SLIM).order_by(ReportRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ReportRow.id < before)
    if source_url is not None:
        query = query.where(ReportRow.source_url == source_url)
    if asked is None:
        return query
    has, has_not = _of_search(asked)
    cell = _one_cell(asked)
    if cell is not None:
        # Put in order first, so that no more cells are looked at than it takes to fill the page.
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
        # No index tells what is not there: reports are looked at one by one, newest first, and not all of them at once.
        looked = select(and_(*has_not)).where(ReportSearchRow.report_id == ReportRow.id)
        query = query.where(looked.correlate(ReportRow).scalar_subquery())
    return query.where(*_of_reports(asked))


def _of_search(asked: Asked) -> tuple[list[ColumnElement[bool]], list[ColumnElement[bool]]]:
    """What must hold of all that a report is found by, and what must not."""
    query = asked.query
    has = [_has(_facets(asked, field)) for field in (*_wanted_of_cells(query), *query.fields("cause"))]
    facets = [_facets(asked, field) for field in query.fields(*_OF_CELLS, "cause", negated=True)]
    has_not = [not_(_has(some)) for some in facets]
    for term in (*query.words(), *query.words(negated=True)):
        words = tokens(term.text)
        if words:
            holds = has_words(ReportSearchRow.words, words, whole=term.quoted)
            (has_not if term.negated else has).append(not_(holds) if term.negated else holds)
    return has, has_not


def _has(facets: Iterable[str]) -> ColumnElement[bool]:
    """Whether one of these is true of the report or of a cell of it."""
    return _overlap(ReportSearchRow.facets, facets)


def _overlap(array: Any, values: Iterable[str]) -> ColumnElement[bool]:
    shares: ColumnElement[bool] = array.overlap(list(values) or [NOTHING])
    return shares


def _facets(asked: Asked, field: Field) -> list[str]:
    return [f"{field.name}:{value}" for value in asked.values(field)]


def _wanted_of_cells(query: Query) -> list[Field]:
    wanted = query.fields(*_OF_CELLS)
    return [*wanted, *query.fields("verdict")] if wanted else []


def _one_cell(asked: Asked) -> ColumnElement[bool] | None:
    """Whether a cell of the report has it all; None where the index has told."""
    wanted = _wanted_of_cells(asked.query)
    if len(wanted) < 2:
        return None
    cell = (
        select(literal(1))
        .where(ReportCellRow.report_id == ReportRow.id, *(_in_cell(asked, field) for field in wanted))
        .limit(1)
    )
    # Not EXISTS: that would be asked as a join, which may read all cells. And of this Postgres expects that most have it.
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
}


def _in_cell(asked: Asked, field: Field) -> ColumnElement[bool]:
    if field.name in _SEVERAL:
        return _overlap(_SEVERAL[field.name], field.values)
    return _ONE[field.name].in_(asked.values(field))


def _of_reports(asked: Asked) -> list[ColumnElement[bool]]:
    """What the report's own row says, and its changes."""
    query = asked.query
    fields = {name: query.fields(name) for name in _OF_REPORT}
    if query.fields(*_OF_CELLS):
        fields["verdict"] = []
    conditions = [_OF_REPORT[name](asked, field) for name, wanted in fields.items() for field in wanted]
    # Of a report that is not judged yet no verdict is true.
    conditions += [
        not_(func.coalesce(_OF_REPORT[name](asked, field), false()))
        for name in _OF_REPORT
        for field in query.fields(name, negated=True)
    ]
    changes = query.fields("changed")
    if changes:
        conditions.append(_changed(asked, changes))
    conditions += [not_(_changed(asked, [field])) for field in query.fields("changed", negated=True)]
    return conditions


def _changed(asked: Asked, fields: Sequence[Field]) -> ColumnElement[bool]:
    """Whether one change of the report is all that."""
    holds = [or_(*(_change(asked, value) for value in field.values)) for field in fields]
    return ReportRow.id.in_(select(ChangeRow.report_id).where(*holds))


def _change(asked: Asked, value: str) -> ColumnElement[bool]:
    if value in list(ChangeKind):
        return ChangeRow.kind == value
    return _when(ChangeRow.id, _period(asked, value))


def _period(asked: Asked, value: str) -> Period:
    return period(value, moment=asked.moment) or Period(None, None)


def _when(identity: InstrumentedAttribute[str], when: Period) -> ColumnElement[bool]:
    """Ids sort by time."""
    since = [] if when.since is None else [identity >= id_at(when.since)]
    until = [] if when.until is None else [identity < id_at(when.until)]
    return and_(true(), *since, *until)


def _submitted(asked: Asked, field: Field) -> ColumnElement[bool]:
    return or_(*(_when(ReportRow.id, _period(asked, value)) for value in field.values))


def _labelled(_asked: Asked, field: Field) -> ColumnElement[bool]:
    labels = ReportRow.__table__.columns.get("labels")
    return false() if labels is None else _overlap(labels, field.values)


def _in_state(_asked: Asked, field: Field) -> ColumnElement[bool]:
    """A report that nobody could close is open."""
    closed_at = ReportRow.__table__.columns.get("closed_at")
    is_open = true() if closed_at is None else closed_at.is_(None)
    return or_(*(is_open if value == "open" else not_(is_open) for value in field.values))


# One place for what a report's row is asked.
_OF_REPORT: dict[str, Callable[[Asked, Field], ColumnElement[bool]]] = {
    "verdict": lambda _, field: ReportRow.verdict.in_(field.values),
    "attention": lambda _, field: ReportRow.attention.in_(field.values),
    "submitted": _submitted,
    "label": _labelled,
    "is": _in_state,
}
