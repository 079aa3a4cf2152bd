"""The rows that the recorder stores for a report and an ended run, as lines of COPY: search rows and run
object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from scale_shapes import Cell, Shape
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from app.judging.versions import INDEX_RULES
from app.runs.rows.document_cache import compressed_json, digest_of_sources
from app.runs.rows.search_index import cells_of_job, facets_of, words_of
from app.runs.run_object.document import JobPart, TargetPart
from app.storage.models import ReportCellRow, ReportRow, RunRow
from app.storage.queries.reports.text_search import vector_of
from app.storage.queries.runs import short_columns
from app.storage.session import driver_url
from app.targets.target import Target

CELL = (
    "report_id",
    "script",
    "label",
    "device",
    "toolchain",
    "settings",
    "node",
    "verdict",
    "outcomes",
    "exceptions",
    "hardware",
    "warnings",
    "said",
)
# As `cells_of_job` names them.
CELL_VALUES = tuple("output" if name == "said" else name for name in CELL)
KEPT = {
    "report_search": "report_id, rules, facets, words",
    "report_cell": ", ".join(CELL),
    "run_document": "run_id, made_from, content",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A job in the tables."""

    id: str
    run: str
    cell: Cell
    target: dict[str, Any]
    node: str
    environment: str
    attempts: list[str]

    @property
    def label(self) -> str:
        return Target.model_validate(self.target).label()

    def part(self, script: str) -> JobPart:
        """The job in the form of the run object."""
        changed = {"node": self.node, "environment": self.environment}
        attempts = [
            attempt.model_copy(update={**changed, "id": name})
            for attempt, name in zip(self.cell.part.attempts, self.attempts, strict=True)
        ]
        target = TargetPart.model_validate({name: self.target[name] for name in TargetPart.model_fields})
        return self.cell.part.model_copy(
            update={"id": self.id, "script": script, "target": target, "attempts": attempts}
        )


def escaped(text: str) -> str:
    """A text in the syntax of COPY."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _array(values: list[str]) -> str:
    quoted = ('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return escaped("{" + ",".join(quoted) + "}")


def kept_of_report(row: ReportRow, shape: Shape, jobs: list[Kept]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Tables and lines: the latest job of each cell, and the search rows of the report."""
    latest = {job.label: job for job in jobs}
    cells = [
        cell
        for job in latest.values()
        for cell in cells_of_job(
            row.id, job.part(str(row.main_script)), {job.environment: job.cell.environment}
        )
    ]
    for cell in cells:
        yield (
            "report_cell",
            tuple(
                _array(cell[name]) if isinstance(cell[name], list) else escaped(str(cell[name]))
                for name in CELL_VALUES
            ),
        )
    rows = [ReportCellRow(**cell) for cell in cells]
    facets = {facet for cell in rows for facet in facets_of(cell)}
    if shape.document.cause is not None:
        facets.add(f"cause:{shape.document.cause}")
    yield (
        "report_search",
        (row.id, str(INDEX_RULES), _array(sorted(facets)), escaped(vector_of(words_of(row, rows, ())))),
    )


def stamp(url: str) -> None:
    """Mark the cached run objects as made by the present code, so that older data can be used again."""
    engine = create_engine(driver_url(url))
    with Session(engine) as session:
        reports = {row["id"]: dict(row) for row in session.execute(select(*short_columns())).mappings()}
        stamps = [
            (run.id, digest_of_sources(run, reports[run.report_id]))
            for run in session.scalars(select(RunRow))
        ]
    engine.dispose()
    with psycopg.connect(url) as database:
        database.execute("CREATE TEMP TABLE stamp (id text, made_from text)")
        with database.cursor().copy("COPY stamp FROM STDIN") as out:
            out.write("".join(f"{name}\t{made_from}\n" for name, made_from in stamps))
        database.execute(
            "UPDATE run_document d SET made_from = s.made_from FROM stamp s WHERE s.id = d.run_id"
        )


def kept_document(
    row: ReportRow, shape: Shape, jobs: list[Kept], *, events: int, moment: datetime, ended: datetime
) -> tuple[str, ...]:
    """The run object, with its jobs as in the tables."""
    identity, digest = jobs[0].run, str(row.main_script)
    told = shape.document
    script = told.report.scripts[0].model_copy(update={"digest": digest})
    report = told.report.model_copy(
        update={"id": row.id, "title": row.title, "source_url": row.source_url, "scripts": [script]}
    )
    own = {"id": identity, "report": report, "jobs": [job.part(digest) for job in jobs], "preset": "versions"}
    document = told.model_copy(update={**own, "created_at": moment, "finished_at": ended})
    run = RunRow(
        id=identity,
        report_id=row.id,
        state="finished",
        trigger="submitted",
        preset="versions",
        repeats_at_most=5,
        repeats_exact=False,
        last_event=events,
        verdict=told.verdict,
        summary=told.summary,
        created_at=moment,
        finished_at=ended,
    )
    short = {column.name: getattr(row, column.name) for column in short_columns()}
    return (identity, digest_of_sources(run, short), f"\\\\x{compressed_json(document).hex()}")
