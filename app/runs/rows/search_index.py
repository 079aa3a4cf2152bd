"""By what a report is found: its words, and of each cell by our own nodes where it ran and what was seen; kept with each run that ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy.orm import Session, sessionmaker

from app.judging.versions import INDEX_RULES
from app.runs.rows.facts import document_of
from app.runs.run_object.document import JobPart, RunDocument
from app.search.fields import type_name
from app.search.tokens import tokens
from app.storage.models import ReportCellRow, ReportRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import reports as report_queries
from app.storage.queries.reports import search as queries
from app.targets.target import Target
from worker.contract import Device
from worker.contract.text import storable_text

# Of a text, of what a cell said, and of all cells together.
MOST_TEXT, MOST_SAID, MOST_SAID_TOGETHER = 50_000, 500, 50_000
# Of one run of many cells.
MOST_SETTINGS = 20
AT_ONCE = 200


def keep_words(session: Session, report: ReportRow) -> None:
    """Let a report be found that has no cells yet. The caller commits."""
    queries.keep_search(session, report.id, rules=INDEX_RULES, facets=(), texts=words_of(report, ()))


def keep_cells(session: Session, report: ReportRow, document: RunDocument) -> None:
    """Let a report be found by what a run of it showed. A contributed one decides nothing, here neither. The caller commits."""
    if document.contributed is not None:
        return
    queries.keep_cells(session, [cell_of(report.id, job) for job in document.jobs if job.verdict is not None])
    cells = queries.cells_of(session, report.id)
    facets = {facet for cell in cells for facet in facets_of(cell)}
    if document.cause is not None:
        facets.add(f"cause:{document.cause}")
    queries.keep_search(session, report.id, rules=INDEX_RULES, facets=facets, texts=words_of(report, cells))


def forget_words(session: Session, report_id: str) -> None:
    """Let nobody find a report by what it or its script said: its text was withdrawn. The caller commits."""
    queries.forget_words(session, report_id)


def keep_all(factory: sessionmaker[Session]) -> int:
    """Make those reports findable that are not, or by older rules, a transaction each; how many there were."""
    done = 0
    while True:
        with factory.begin() as session:
            ids = queries.not_searchable(session, rules=INDEX_RULES, limit=AT_ONCE)
        if not ids:
            return done
        for report_id in ids:
            with factory.begin() as session:
                _keep_again(session, report_id)
        done += len(ids)


def _keep_again(session: Session, report_id: str) -> None:
    """From all that is kept, oldest run first."""
    report = run_queries.report_of(session, report_id)
    if report is None:
        return
    keep_words(session, report)
    for run in sorted(
        report_queries.runs_of_report(session, report_id),
        key=lambda run: (run.finished_at or run.created_at, run.id),
    ):
        if run.state == "finished":
            keep_cells(session, report, document_of(session, run))


def words_of(report: ReportRow, cells: Iterable[ReportCellRow]) -> list[list[str]]:
    """The words of a report and of what its cells said, text by text."""
    return [*_texts(report), *_said(cells)]


def _texts(report: ReportRow) -> Iterator[list[str]]:
    for text in (report.title, report.source_url, report.claim_text, report.text[:MOST_TEXT]):
        if text:
            yield tokens(text)


def _said(cells: Iterable[ReportCellRow]) -> Iterator[list[str]]:
    """What cells said, each saying once, as far as it goes."""
    left = MOST_SAID_TOGETHER
    for said in dict.fromkeys(cell.said for cell in cells if cell.said):
        left -= len(said)
        if left < 0:
            return
        yield tokens(said)


def cell_of(report_id: str, job: JobPart) -> dict[str, Any]:
    """A job as it is found: by its counted attempts."""
    target = Target(
        device=Device(job.target.device),
        gpus=job.target.gpus,
        toolchain=job.target.toolchain,
        settings=job.target.settings,
    )
    counted = [attempt for attempt in job.attempts if attempt.counted and attempt.outcome is not None]
    types = {type_name(attempt.exception.type) for attempt in counted if attempt.exception is not None}
    return {
        "report_id": report_id,
        "script": job.script,
        "label": target.label(),
        "device": job.target.device,
        "toolchain": job.target.toolchain,
        "settings": sorted(f"{name}={value}" for name, value in job.target.settings.items())[:MOST_SETTINGS],
        "node": next((attempt.node for attempt in counted if attempt.node), None),
        "verdict": job.verdict,
        "outcomes": sorted({str(attempt.outcome) for attempt in counted}),
        "exceptions": sorted(storable_text(name) for name in types),
        "said": _said_by(job),
    }


def _said_by(job: JobPart) -> str:
    """The exception and the beginning of what was printed, of the first counted attempt that said anything."""
    for attempt in job.attempts:
        if attempt.counted and attempt.outcome is not None:
            raised = (
                "" if attempt.exception is None else f"{attempt.exception.type}: {attempt.exception.message}"
            )
            said = [
                text[:MOST_SAID]
                for text in (raised, attempt.stdout, "" if raised else attempt.stderr)
                if text
            ]
            if said:
                return storable_text("\n".join(said))
    return ""


def facets_of(cell: ReportCellRow) -> Sequence[str]:
    """What is true of a cell, as a search asks for it."""
    several = {"setting": cell.settings, "outcome": cell.outcomes, "exception": cell.exceptions}
    one = {"verdict": cell.verdict, "device": cell.device, "toolchain": cell.toolchain, "node": cell.node}
    return [
        *(f"{name}:{value}" for name, value in one.items() if value),
        *(f"{name}:{value}" for name, values in several.items() for value in values),
    ]
