"""Maintains the search index of reports: their words, and for each cell where it ran and what it showed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session, sessionmaker

from app.judging.report.change import ChangeKind
from app.judging.versions import INDEX_RULES
from app.runs.rows.facts import document_of
from app.runs.run_object.document import AttemptPart, JobPart, RunDocument
from app.search.fields import type_name
from app.search.tokens import tokens
from app.storage.models import ReportCellRow, ReportRow, ReportSearchRow
from app.storage.queries import changes as change_queries
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import reports as report_queries
from app.storage.queries.reports import search as queries
from app.storage.queries.reports.text_search import vector_of
from app.targets.target import Target
from worker.contract import CapturedWarning, Device, Environment
from worker.contract.text import storable_text

# The characters that are indexed: of a report's text, of one cell's output, and of all cells' output
# together.
MOST_TEXT, MOST_OUTPUT, MOST_OUTPUT_TOGETHER = 50_000, 500, 50_000
# Settings indexed for one cell, words of one name of hardware and of all, and categories of warnings.
MOST_SETTINGS, MOST_NAME_WORDS, MOST_HARDWARE, MOST_CATEGORIES = 20, 12, 40, 20
# Plain words that find a report by how it changed.
CHANGE_WORDS: Mapping[ChangeKind, tuple[str, ...]] = {
    ChangeKind.REGRESSED: ("regressed", "regression"),
    ChangeKind.FIXED: ("fixed",),
}
# So many digits tell the machines of a target apart.
MACHINE_DIGITS = 12
_CARD = re.compile(r"gpu\.\d{1,3}\.model")
# Reports read in one transaction by `index_all_reports`.
PAGE = 200


def index_report(session: Session, report: ReportRow) -> None:
    """Index the words of a report that has no cells yet. The caller commits."""
    words = words_of(report, (), ())
    queries.store_search(session, report.id, rules=INDEX_RULES, facets=(), texts=words)


def index_row(report: ReportRow) -> ReportSearchRow:
    """The row in the index of a report that is not stored yet, to be stored with it."""
    vector = vector_of(words_of(report, (), ()))
    return ReportSearchRow(report_id=report.id, rules=INDEX_RULES, facets=[], words=vector)


def index_run(session: Session, report: ReportRow, document: RunDocument) -> None:
    """Index the cells of a run. A contributed run is skipped: it decides nothing about its report.

    The caller commits.
    """
    if document.contributed is not None:
        return
    queries.store_cells(
        session,
        [
            cell
            for job in document.jobs
            if job.verdict is not None
            for cell in cells_of_job(report.id, job, document.environments)
        ],
    )
    cells = queries.cells_of(session, report.id)
    facets = {facet for cell in cells for facet in facets_of(cell)}
    if document.cause is not None:
        facets.add(f"cause:{document.cause}")
    words = words_of(report, cells, change_queries.kinds_of_report(session, report.id))
    queries.store_search(session, report.id, rules=INDEX_RULES, facets=facets, texts=words)


def index_all_reports(factory: sessionmaker[Session]) -> int:
    """Index the reports that are not indexed, or were by older rules, each in its own transaction.

    Returns their number.
    """
    done = 0
    while True:
        with factory.begin() as session:
            ids = queries.not_searchable(session, rules=INDEX_RULES, limit=PAGE)
        if not ids:
            return done
        for report_id in ids:
            with factory.begin() as session:
                _index_again(session, report_id)
        done += len(ids)


def _index_again(session: Session, report_id: str) -> None:
    """Index a report and all its finished runs, oldest first."""
    report = run_queries.report_of(session, report_id)
    if report is None:
        return
    queries.delete_cells(session, report_id)
    index_report(session, report)
    for run in sorted(
        report_queries.runs_of_report(session, report_id),
        key=lambda run: (run.finished_at or run.created_at, run.id),
    ):
        if run.state == "finished":
            index_run(session, report, document_of(session, run))


def words_of(
    report: ReportRow, cells: Collection[ReportCellRow], kinds: Iterable[ChangeKind]
) -> list[list[str]]:
    """The words of a report, of its cells' output and hardware, and of its changes; one list a text."""
    hardware = sorted({word for cell in cells for word in cell.hardware})
    return [
        *_report_texts(report),
        *_cell_outputs(cells),
        *([word] for word in hardware),
        *(list(CHANGE_WORDS.get(kind, ())) for kind in sorted(kinds)),
    ]


def _report_texts(report: ReportRow) -> Iterator[list[str]]:
    for text in (report.title, report.source_url, report.claim_text, report.text[:MOST_TEXT]):
        if text:
            yield tokens(text)


def _cell_outputs(cells: Iterable[ReportCellRow]) -> Iterator[list[str]]:
    """The words of the cells' output, equal outputs once, until the limit is reached."""
    left = MOST_OUTPUT_TOGETHER
    for output in dict.fromkeys(cell.output for cell in cells if cell.output):
        left -= len(output)
        if left < 0:
            return
        yield tokens(output)


def cells_of_job(
    report_id: str, job: JobPart, environments: Mapping[str, Environment]
) -> Iterator[dict[str, Any]]:
    """The index rows of a job, one for each machine, from its counted attempts: columns of `ReportCellRow`.

    A later run on another machine leaves the row of the earlier one. `environments` are those of the run by
    their digests.
    """
    target = Target(
        device=Device(job.target.device),
        gpus=job.target.gpus,
        toolchain=job.target.toolchain,
        settings=job.target.settings,
    )
    of_job = {
        "report_id": report_id,
        "script": job.script,
        "device": job.target.device,
        "toolchain": job.target.toolchain,
        "settings": sorted(f"{name}={value}" for name, value in job.target.settings.items())[:MOST_SETTINGS],
        "verdict": job.verdict,
    }
    for node, hardware, attempts in _machines(job, environments):
        machine = hashlib.sha256(" ".join([node, *hardware]).encode()).hexdigest()[:MACHINE_DIGITS]
        warnings = [warning for attempt in attempts for warning in attempt.warnings or ()]
        types = {type_name(attempt.exception.type) for attempt in attempts if attempt.exception is not None}
        yield of_job | {
            "label": f"{target.label()} {machine}",
            "node": node or None,
            "outcomes": sorted({str(attempt.outcome) for attempt in attempts}),
            "exceptions": sorted(storable_text(name) for name in types),
            "hardware": hardware,
            "warnings": _categories(warnings),
            "output": "\n".join(filter(None, [_output_of(attempts), _warning_texts(warnings)])),
        }


def _machines(
    job: JobPart, environments: Mapping[str, Environment]
) -> Iterator[tuple[str, list[str], list[AttemptPart]]]:
    """The counted attempts by node and hardware. Without any there is one machine, which is not known."""
    counted = [attempt for attempt in job.attempts if attempt.counted and attempt.outcome is not None]
    known = [
        (attempt, _hardware_of(job, environments.get(attempt.environment or "", {}))) for attempt in counted
    ]
    # An attempt that failed at its start has no environment; it is one of its node.
    of_node = {attempt.node: hardware for attempt, hardware in reversed(known) if hardware}
    groups: dict[tuple[str, tuple[str, ...]], list[AttemptPart]] = {}
    for attempt, hardware in known:
        key = attempt.node or "", tuple(hardware or of_node.get(attempt.node, ()))
        groups.setdefault(key, []).append(attempt)
    for (node, words), attempts in (groups or {("", ()): []}).items():
        yield node, [*words], attempts


def _hardware_of(job: JobPart, environment: Environment) -> list[str]:
    """The words of the processor's name and, for a cell on cards, of the cards' names."""
    names = ["cpu.model"]
    if job.target.device == Device.CUDA:
        names += [name for name in environment if _CARD.fullmatch(name)]
    words: set[str] = set()
    for name in names:
        words.update(tokens(storable_text(str(environment.get(name) or "")))[:MOST_NAME_WORDS])
    return sorted(words)[:MOST_HARDWARE]


def _categories(warnings: Iterable[CapturedWarning]) -> list[str]:
    """The categories as a search asks for them, such as `deprecationwarning`, with what they derive from."""
    names = {name for warning in warnings for name in (warning.category, warning.base) if name}
    return sorted({storable_text(type_name(name)) for name in names})[:MOST_CATEGORIES]


def _warning_texts(warnings: Iterable[CapturedWarning]) -> str:
    texts = dict.fromkeys(f"{warning.category}: {warning.text}" for warning in warnings)
    return storable_text("\n".join(texts)[:MOST_OUTPUT])


def _output_of(attempts: Iterable[AttemptPart]) -> str:
    """The exception and the beginning of the output, of the first attempt that has either."""
    for attempt in attempts:
        raised = "" if attempt.exception is None else f"{attempt.exception.type}: {attempt.exception.message}"
        texts = [
            text[:MOST_OUTPUT] for text in (raised, attempt.stdout, "" if raised else attempt.stderr) if text
        ]
        if texts:
            return storable_text("\n".join(texts))
    return ""


def facets_of(cell: ReportCellRow) -> Sequence[str]:
    """The facets of a cell, `name:value`, as a search asks for them."""
    several = {
        "setting": cell.settings,
        "outcome": cell.outcomes,
        "exception": cell.exceptions,
        "hardware": cell.hardware,
        "warning": cell.warnings,
    }
    one = {"verdict": cell.verdict, "device": cell.device, "toolchain": cell.toolchain, "node": cell.node}
    return [
        *(f"{name}:{value}" for name, value in one.items() if value),
        *(f"{name}:{value}" for name, values in several.items() for value in values),
    ]
