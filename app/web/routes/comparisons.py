"""The page that shows two attempts side by side, and the lists from which they are chosen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from app.errors import InputError
from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep
from app.runs.lookup.comparisons import attempt_pair, attempts_of, compare_pair
from app.runs.lookup.history import history
from app.runs.lookup.reports import list_reports, report_details, source_digest
from app.runs.lookup.runs import attempt_details
from app.runs.rows.by_id import get_run
from app.search.terms import QueryError
from app.storage.queries.runs import reports_of_runs
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import html_response, page, render, render_cached
from app.web.parts import lazily
from app.web.views.copies.copied_pages import comparison_markdown
from app.web.views.side_by_side import comparison_values
from app.web.views.whole_pages.compare_choices import compare_choices

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
Id = Annotated[str, Query(max_length=100)]
# The limits of the lists: reports, and judged jobs of one report that are looked at.
MOST_REPORTS, MOST_RESULTS = 20, 400


@router.get("/compare.md")
@router.get("/compare.json")
@router.get("/compare")
def get_compare(
    *,
    request: Request,
    session: SessionDep,
    _may: CanRead,
    baseline: Id = "",
    candidate: Id = "",
    comparison_id: Annotated[str, Query(alias="id", max_length=100)] = "",
    report: Id = "",
    q: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """Two attempts by their ids, or a stored comparison by its id. With less, lists to choose from.

    Raises NotFoundError for a report or an attempt that is not there.
    """
    one, other = baseline.strip(), candidate.strip()
    chosen = negotiate_format(request.url.path, request)[1]
    if not comparison_id and not (one and other):
        if chosen is not Format.PAGE:
            raise InputError(
                "Name two attempts: ?baseline=ID&candidate=ID, or ?id= of a stored comparison.",
                code="no_attempts",
                field="baseline",
            )
        if report or one or other:
            report_id = report or _report_of(session, one or other)
            return _choose_results(session, report_id, baseline=one, candidate=other)
        return _choose_report(session, q)
    if comparison_id:
        one, other = attempts_of(comparison_id)
    pair = attempt_pair(session, one, other)
    details = lazily(compare_pair, session, pair)
    if chosen is Format.JSON:
        return as_json(details())
    if chosen is Format.MARKDOWN:
        address = address_of(request, f"/compare?baseline={one}&candidate={other}")
        return as_markdown(comparison_markdown(details(), address=address))
    reports = reports_of_runs(session, (pair.baseline.run, pair.candidate.run))
    return page("compare.html", **comparison_values(pair, details), reports=reports)


def _choose_report(session: Session, q: str) -> Response:
    """The newest reports that match, as the first step."""
    try:
        matches = list_reports(session, limit=MOST_REPORTS, query=q or None)
    except QueryError as error:
        return page(
            "compare_form.html", status=status_of(error), report=None, reports=None, q=q, problem=error
        )
    return page(
        "compare_form.html",
        report=None,
        reports=matches.items,
        more=matches.next_cursor is not None,
        q=q,
        problem=None,
    )


def _choose_results(session: Session, report_id: str, *, baseline: str, candidate: str) -> Response:
    """The results of a report, as the second step. Raises NotFoundError."""
    report = report_details(session, report_id)

    def draw() -> str:
        # A withdrawn report has nothing to compare.
        erased = report.withdrawn_at is not None
        scripts = report.report.scripts
        points = [] if erased else history(session, report.id, scripts=scripts, limit=MOST_RESULTS)
        choices = compare_choices(
            points, [script.digest for script in scripts], baseline=baseline, candidate=candidate
        )
        return render("compare_form.html", report=report, choices=choices)

    state = source_digest(session, report)
    sources = None if state is None else f"{state} compare {baseline} {candidate}"
    return html_response(render_cached(sources, draw))


def _report_of(session: Session, attempt_id: str) -> str:
    """The id of the report whose attempt this is. Raises NotFoundError."""
    return get_run(session, attempt_details(session, attempt_id).run).report_id
