"""The list of reports, the page of one report, and its texts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.http.access import CanRead, CanSubmit, Viewer, ViewerDep, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import WithdrawCookie, corrector_by_form
from app.runs.lookup.answers import answer_and_warnings, answer_of_report, with_answer
from app.runs.lookup.changes import list_changes
from app.runs.lookup.history import environments_of_points, history
from app.runs.lookup.rates import with_counts
from app.runs.lookup.reports import (
    ReportDetails,
    current_run,
    list_reports,
    reply_of,
    report_details,
    source_digest,
)
from app.runs.lookup.runs import run_document
from app.runs.maintenance.correct_claim import correct_claim
from app.runs.rows.presets import known_presets
from app.runs.run_object.answer.part import AnswerPart
from app.runs.submission.relaunch import relaunch
from app.search.fields import FIELDS
from app.search.terms import QueryError
from app.targets.planning.run_request import RunRequest
from app.web.formats import (
    Format,
    address_of,
    as_file,
    as_json,
    as_markdown,
    as_picture,
    as_text,
    negotiate_format,
)
from app.web.pages import html_response, page, render, render_cached
from app.web.parts import Lazy, lazily
from app.web.views import reports as views
from app.web.views.pictures import report_map, report_picture_file
from app.web.views.whole_pages.timeline import Timeline, timeline_of

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
MOST_LISTED = 30
# Changes on the timeline of a report.
MOST_CHANGES = 20


@router.get("/reports")
def get_reports(
    session: SessionDep,
    _may: CanRead,
    q: Annotated[str, Query(max_length=300)] = "",
    cursor: str | None = None,
) -> Response:
    """The reports that match a query, newest first."""
    try:
        reports = list_reports(session, cursor=cursor, limit=MOST_LISTED, query=q)
    except QueryError as error:
        return page("reports.html", status=status_of(error), reports=None, q=q, problem=error, fields=FIELDS)
    return page("reports.html", reports=reports, q=q, problem=None, fields=FIELDS)


@router.get("/reports/{report_id}.svg")
def get_picture(
    report_id: str, request: Request, session: SessionDep, settings: SettingsDep, may: CanRead
) -> Response:
    """The results over versions as a picture, to show in an issue. None of the report's text is in it."""
    report = report_details(session, report_id)
    state = source_digest(session, report)

    def draw() -> str:
        current = None if report.withdrawn_at is not None else current_run(report)
        if current is None:
            ended = "withdrawn" if report.withdrawn_at is not None else "not run yet"
            return report_picture_file(f"This report was {ended}.", [], [])
        run = run_document(session, current.id, settings=settings)
        points = history(session, report_id, scripts=report.report.scripts, with_outputs=False)
        scripts = [script.digest for script in report.report.scripts]
        what = answer_of_report(session, report, run).what
        return report_picture_file(what, with_counts(session, points, known=run), scripts)

    svg = render_cached(None if state is None else f"{state} svg", draw)
    return as_picture(request, svg, public=may is None)


@router.get("/reports/{report_id}/map")
def get_map(report_id: str, session: SessionDep, _may: CanRead) -> Response:
    """The results of a report on many targets and versions as a picture."""
    report = _with_texts(report_details(session, report_id))
    state = source_digest(session, report)

    def render_text() -> str:
        scripts = report.report.scripts
        points = history(session, report_id, scripts=scripts, with_outputs=False)
        picture = lazily(report_map, points, [script.digest for script in scripts])
        heading = report.report.title or ""
        return render(
            "map.html", picture=picture, heading=heading, back=f"/reports/{report_id}", columns="versions"
        )

    return html_response(render_cached(None if state is None else f"{state} map", render_text))


@router.get("/reports/{report_id}")
def get_report(
    *,
    report_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    viewer: ViewerDep,
    start: Annotated[int, Query(alias="from", ge=0, le=10_000)] = 0,
    older: Annotated[int, Query(ge=0, le=10_000)] = 0,
    rows: Annotated[Literal["", "each"], Query()] = "",
) -> Response:
    """The permanent page of a report: its current verdict, where it happens, and since when."""
    name, chosen = negotiate_format(report_id, request)
    report = report_details(session, name)
    if chosen is Format.JSON:
        return as_json(with_answer(session, report))
    address = address_of(request, f"/reports/{name}")
    if report.withdrawn_at is not None:
        return _withdrawn_page(session, report, chosen, address=address, viewer=viewer)
    state = source_digest(session, report)

    def render_text() -> str:
        current = current_run(report)
        run = None if current is None else run_document(session, current.id, settings=settings)
        points = history(session, name, scripts=report.report.scripts)
        points = points if run is None else with_counts(session, points, known=run)
        both = lazily(answer_and_warnings, session, report, run)
        values = views.report_values(
            report,
            run,
            points,
            answer=Lazy(lambda: both()[0]),
            new_warnings=Lazy(lambda: both()[1]),
            environments=lazily(environments_of_points, session, points if report.report.environment else ()),
            address=address,
            start=start,
            older=older,
            each=rows == "each",
        )
        if chosen is Format.MARKDOWN:
            return values["markdown"]() if run is not None else f"This report was not run yet: {address}\n"
        return render(
            "report.html",
            **values,
            presets=known_presets(settings).values(),
            viewer=viewer,
            reply=None
            if report.disposition is None and report.confirmed is None
            else reply_of(report, values["answer"]() if run else AnswerPart(), base=address_of(request, "")),
            timeline=lazily(_timeline, session, report),
        )

    sources = None if state is None else f"{state} {chosen} {address} {start} {older} {rows} {viewer}"
    text = render_cached(sources, render_text)
    return as_markdown(text) if chosen is Format.MARKDOWN else html_response(text)


def _timeline(session: Session, report: ReportDetails) -> Timeline:
    changes = list_changes(session, report=report.id, limit=MOST_CHANGES)
    return timeline_of(report, changes.items)


def _withdrawn_page(
    session: Session, report: ReportDetails, chosen: Format, *, address: str, viewer: Viewer
) -> Response:
    if chosen is Format.MARKDOWN:
        return as_markdown(f"This report was withdrawn: {address}\n")
    timeline = _timeline(session, report)
    return page("report_withdrawn.html", report=report, viewer=viewer, timeline=timeline)


@router.post("/reports/{report_id}/runs")
def post_report_run(
    report_id: str,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    preset: Annotated[str, Form()] = "",
) -> Response:
    """Run a report again."""
    request = RunRequest(preset=preset or None)
    document = relaunch(session, report_id, request, settings=settings, who=token_of(may))
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


@router.post("/reports/{report_id}/claim")
def post_claim(
    *,
    report_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    claim: Annotated[str, Form()],
    reason: Annotated[str, Form()] = "",
    secret: Annotated[str, Form(max_length=200)] = "",
    cookie: WithdrawCookie = None,
) -> Response:
    """Correct the claim. The submitter's browser has a cookie; others send the withdraw secret."""
    name = corrector_by_form(
        request, session, settings, report_id=report_id, secret=secret.strip(), cookie=cookie
    )
    correct_claim(session, report_id, claim.replace("\r\n", "\n"), reason=reason, who=name, settings=settings)
    return RedirectResponse(f"/reports/{report_id}#script", status_code=303)


@router.post("/reports/{report_id}/stances")
def post_stance(
    *,
    report_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    stance: Annotated[str, Form(max_length=100)],
    reason: Annotated[str, Form()] = "",
    secret: Annotated[str, Form(max_length=200)] = "",
    cookie: WithdrawCookie = None,
) -> Response:
    """Give one exhibit another stance: `stance` has its id and the word, as a button sends them."""
    name = corrector_by_form(
        request, session, settings, report_id=report_id, secret=secret.strip(), cookie=cookie
    )
    exhibit, _, word = stance.strip().partition(" ")
    correct_claim(session, report_id, {exhibit: word}, reason=reason, who=name, settings=settings)
    return RedirectResponse(f"/reports/{report_id}#read-{exhibit}", status_code=303)


@router.get("/reports/{report_id}/text")
def get_text(report_id: str, session: SessionDep, _may: CanRead) -> Response:
    """The text that was submitted."""
    return as_text(_with_texts(report_details(session, report_id)).text)


@router.get("/reports/{report_id}/scripts/{number}")
def get_script(report_id: str, number: int, session: SessionDep, _may: CanRead) -> Response:
    """A script of a report in the form that is run."""
    scripts = _with_texts(report_details(session, report_id)).report.scripts
    if not 1 <= number <= len(scripts):
        raise NotFoundError("The report has no script with this number.")
    return as_file(
        scripts[number - 1].script,
        f"script-{report_id[-8:]}-{number}.py",
        media_type="text/x-python; charset=utf-8",
    )


def _with_texts(report: ReportDetails) -> ReportDetails:
    """The report itself. Raises NotFoundError if its texts are erased."""
    if report.withdrawn_at is not None:
        raise NotFoundError("This report was withdrawn: its text and its scripts are erased.")
    return report
