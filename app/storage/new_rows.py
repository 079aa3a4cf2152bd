"""New rows of several tables, written by one statement: a round trip costs more than a row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Column
from sqlalchemy.orm import Session, class_mapper, make_transient_to_detached

from app.storage import tallies
from app.storage.json_text import to_json
from app.storage.models import Base

# Scripts that are there already stay, and are locked. One that was erased comes back, and one without marks
# gets those that are known now.
_KNOWN_SCRIPTS = """\
 ON CONFLICT (digest) DO UPDATE SET text = excluded.text, erased_at = NULL,
 sketch = CASE WHEN script.shape_digest IS NULL AND excluded.shape_digest IS NOT NULL
 THEN excluded.sketch ELSE script.sketch END,
 shape_digest = coalesce(script.shape_digest, excluded.shape_digest)
 WHERE script.erased_at IS NOT NULL OR (script.shape_digest IS NULL AND excluded.shape_digest IS NOT NULL)"""
_SCRIPT, _TALLY = "script", "tally"


class NewRows:
    """Rows to be inserted. `write` stores all of them, with the counters of the transaction so far.

    Rows may refer to one another in any order: references are checked at the end of the statement.
    """

    def __init__(self) -> None:
        self._rows: list[Base] = []
        self._scripts: list[dict[str, Any]] = []

    def add(self, *rows: Base) -> None:
        """Add rows that nobody else has stored."""
        self._rows += rows

    def add_scripts(
        self,
        texts: Mapping[str, str],
        *,
        moment: datetime,
        marks: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> None:
        """Add scripts that are new or were erased; all of them are locked.

        `marks` holds the shape and the sketch by which a script is found, for those that get some.

        The order of the digests keeps two submissions from waiting for each other in a circle. A withdrawal
        that would erase a script waits for the lock and then sees that the script is used.
        """
        for digest, text in sorted(texts.items()):
            shape, sketch = (marks or {}).get(digest, (None, None))
            self._scripts.append(
                {
                    "digest": digest,
                    "text": text,
                    "shape_digest": shape,
                    "sketch": sketch,
                    "created_at": moment,
                }
            )

    def write(self, session: Session, *, attaches: bool = True) -> None:
        """Insert all rows. If it `attaches` them, the session knows them as if it had loaded them."""
        # Others may refer to what the session has not written yet.
        session.flush()
        # A column that only the database knows is missing in some rows: those are inserted apart from others.
        inserts: dict[tuple[str, tuple[str, ...]], list[Mapping[str, Any]]] = {}
        known = [(_SCRIPT, each) for each in self._scripts]
        new = [(row.__tablename__, _values(row)) for row in self._rows]
        counters = [(_TALLY, each) for each in tallies.take(session)]
        for table, values in (*known, *new, *counters):
            inserts.setdefault((table, tuple(values)), []).append(values)
        if not inserts:
            return
        texts = {
            f"rows_{number}": to_json(rows, default=_as_text) for number, rows in enumerate(inserts.values())
        }
        session.connection().exec_driver_sql(_statement(tuple(inserts)), texts)
        if attaches:
            for row in self._rows:
                make_transient_to_detached(row)
            session.add_all(self._rows)
        self._rows, self._scripts = [], []


@cache
def _statement(form: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """The statement for these tables with their columns. Each parameter is a JSON list of rows."""
    inserts = []
    for number, (table, columns) in enumerate(form):
        names = ", ".join(f'"{column}"' for column in columns)
        known = _KNOWN_SCRIPTS if table == _SCRIPT else ""
        inserts.append(
            f'INSERT INTO "{table}" ({names}) SELECT {names}'  # noqa: S608  # names of our own models
            f' FROM json_populate_recordset(NULL::"{table}", CAST(%(rows_{number})s AS json)){known}'
        )
    *earlier, last = inserts
    parts = ", ".join(f"new_{number} AS ({insert})" for number, insert in enumerate(earlier))
    return f"WITH {parts} {last}" if parts else last


@cache
def _columns(model: type[Base]) -> tuple[tuple[str, Column[Any]], ...]:
    """The attributes of a model, each with its column."""
    return tuple(
        (attribute.key, column)
        for attribute in class_mapper(model).column_attrs
        for column in attribute.columns
        if isinstance(column, Column)
    )


def _values(row: Base) -> dict[str, Any]:
    """The values of a row by the names of its columns.

    A value that is missing gets its default, as in a flush. A value that only the database knows is left out.
    """
    known, values = row.__dict__, {}
    for name, column in _columns(type(row)):
        if name not in known:
            if column.default is not None:
                setattr(row, name, _default(column))
            elif column.server_default is None:
                setattr(row, name, None)
            else:
                continue
        values[column.name] = known[name]
    return values


def _default(column: Column[Any]) -> Any:
    default: Any = column.default
    return default.arg(None) if default.is_callable else default.arg


def _as_text(value: Any) -> str:
    """A value that JSON has no form for, as the text that Postgres reads."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(f"{type(value).__name__} can't be stored")
