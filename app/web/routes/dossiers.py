"""The dossier of a report as a page, and the button that starts its run."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from app.http.access import CanRead, CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep, SettingsDep
from app.judging.dossier.alignment import divergence_sentence, growth_sentence
from app.judging.dossier.markdown import dossier_markdown, number, short
from app.runs.lookup.dossiers import dossier_of_report
from app.runs.submission.relaunch import relaunch
from app.targets.planning.presets import EXPLAIN
from app.targets.planning.run_request import RunRequest
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import page
from app.web.pictures.number import staircase, strip

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.post("/reports/{report_id}/explain")
def post_explain(report_id: str, session: SessionDep, settings: SettingsDep, may: CanSubmit) -> Response:
    """Start a run in which every operation is held against float64."""
    request = RunRequest(preset=EXPLAIN)
    document = relaunch(session, report_id, request, settings=settings, who=token_of(may))
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


@router.get("/reports/{report_id}/explain")
@router.get("/reports/{report_id}/explain.md")
@router.get("/reports/{report_id}/explain.json")
def get_explain(
    report_id: str, request: Request, session: SessionDep, settings: SettingsDep, _may: CanRead
) -> Response:
    """The dossier: the numbers in question, which side is right, the cause, and what is not known."""
    _name, chosen = negotiate_format(request.url.path.rsplit("/", 1)[-1], request)
    dossier = dossier_of_report(session, report_id, settings=settings)
    if chosen is Format.JSON:
        return as_json(dossier)
    if chosen is Format.MARKDOWN:
        address = address_of(request, f"/reports/{report_id}/explain")
        return as_markdown(dossier_markdown(dossier, address=address))
    # Our own markup: its only text from elsewhere is escaped.
    pictures = {row.name: Markup(strip(row)) for row in dossier.numbers}  # noqa: S704
    stairs = [
        (part, growth_sentence(part) or divergence_sentence(part), Markup(picture))  # noqa: S704
        for part in dossier.divergences
        if (picture := staircase(part))
    ]
    return page(
        "dossier.html",
        dossier=dossier,
        report_id=report_id,
        number=number,
        short=short,
        pictures=pictures,
        stairs=stairs,
    )
