"""The conditions of a search, on the index and on the rows of reports.

Each condition uses an index, or filters the result of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, false, func, literal, not_, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app.ids import id_at
from app.judging.report.change import ChangeKind
from app.search.fields import FIELDS
from app.search.periods import Period, period
from app.search.terms import Field, Query
from app.search.tokens import tokens
from app.storage.models import ChangeRow, ReportCellRow, ReportRow, ReportSearchRow
from app.storage.queries.reports.text_search import has_words

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


def of_index(
    search: Search, columns: Any = ReportSearchRow
) -> tuple[list[ColumnElement[bool]], list[ColumnElement[bool]]]:
    """The conditions on the index that must hold, and those that must not.

    `columns` has the facets and words of a report. A facet belongs to the report or to one of its cells.
    """
    query = search.query

    def has_facet(field: Field) -> ColumnElement[bool]:
        return _overlap(columns.facets, _facets(search, field))

    has = [has_facet(field) for field in (*_cell_fields(query), *query.fields("cause"))]
    has_not = [not_(has_facet(field)) for field in query.fields(*_OF_CELLS, "cause", negated=True)]
    for term in (*query.words(), *query.words(negated=True)):
        words = tokens(term.text)
        if words:
            holds = has_words(columns.words, words, whole=term.quoted)
            (has_not if term.negated else has).append(not_(holds) if term.negated else holds)
    return has, has_not


def _overlap(array: Any, values: Iterable[str]) -> ColumnElement[bool]:
    shares: ColumnElement[bool] = array.overlap(list(values) or [NOTHING])
    return shares


def _facets(search: Search, field: Field) -> list[str]:
    return [f"{field.name}:{value}" for value in search.values(field)]


def _cell_fields(query: Query) -> list[Field]:
    fields = query.fields(*_OF_CELLS)
    return [*fields, *query.fields("verdict")] if fields else []


def one_cell(search: Search) -> ColumnElement[bool] | None:
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


def of_reports(search: Search, *, with_changes: bool = True) -> list[ColumnElement[bool]]:
    """The conditions on the row of the report and on its changes.

    Without `with_changes` those of a change that it must have are left out.
    """
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
    if changes and with_changes:
        conditions.append(has_change(search, changes))
    conditions += [not_(has_change(search, [field])) for field in query.fields("changed", negated=True)]
    return conditions


def has_change(search: Search, fields: Sequence[Field], report: Any = ReportRow.id) -> ColumnElement[bool]:
    """Whether a single change of the report fulfils all fields."""
    holds = [or_(*(_change(search, value) for value in field.values)) for field in fields]
    has_one: ColumnElement[bool] = report.in_(select(ChangeRow.report_id).where(*holds))
    return has_one


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
