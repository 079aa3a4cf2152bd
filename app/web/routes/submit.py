"""Submitting in two steps: what was read from a text, then the run. Both steps work without scripts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.errors import InputError, NotFoundError
from app.http.access import CanSubmit, is_encrypted, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import WITHDRAW_COOKIE
from app.runs.lookup.answers import answer_of_run
from app.runs.lookup.reports import report_details
from app.runs.rows.presets import known_presets
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import ScriptPart
from app.runs.submission.known_reports import KnownReport, known_reports
from app.runs.submission.preview import Preview, claim_with_stances, preview
from app.runs.submission.submit import submit
from app.settings import ServiceSettings
from app.web.pages import page
from app.web.parts import lazily
from app.web.submission import SubmissionForm, submission_of
from app.web.views.whole_pages.submission_page import ANSWERS, submission_values

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
WITHDRAW_SECONDS = 24 * 3600


@router.post("/plan")
def post_plan(
    session: SessionDep, settings: SettingsDep, _may: CanSubmit, form: Annotated[SubmissionForm, Form()]
) -> Response:
    """Show how a text is read, who sent the same before, and what would run. Nothing is stored.

    The page has the form, so that everything that was read wrongly can be corrected.
    """
    try:
        form = _with_stance(form, settings=settings)
        submission = submission_of(form)
        seen = preview(session, submission, presets=tuple(ANSWERS), settings=settings)
    except InputError as error:
        return _page(session, form, settings=settings, problem=error)
    return _page(session, form, settings=settings, seen=seen, is_script=submission.script is not None)


@router.get("/plan")
def get_plan(session: SessionDep, settings: SettingsDep, _may: CanSubmit, report: str) -> Response:
    """The form with the text of a report, so that its reporter can complete it. Nothing is stored.

    Raises NotFoundError, also for a report that was withdrawn: its text is erased.
    """
    known = report_details(session, report)
    if known.withdrawn_at is not None:
        raise NotFoundError("This report was withdrawn: its text and its scripts are erased.")
    claim = known.claim_text if not known.earlier_claims else known.earlier_claims[-1].claim_text
    form = SubmissionForm(
        text=known.text,
        form=known.form,
        claim=claim or "",
        title=known.report.title if known.form == "script" else "",
        source_url=known.report.source_url or "",
    )
    return post_plan(session, settings, _may, form)


@router.post("/")
def post_submission(
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    form: Annotated[SubmissionForm, Form()],
) -> Response:
    """Submit. An error is shown beside its field, and the form keeps its values."""
    try:
        # A savepoint: it undoes the writes of a refused submission, and the page can still use the session.
        with session.begin_nested():
            submitted = submit(session, submission_of(form), settings=settings, who=token_of(may))
    except InputError as error:
        return _page(session, form, settings=settings, problem=error)
    path = f"/runs/{submitted.document.id}"
    response = RedirectResponse(path, status_code=303)
    if submitted.withdraw_secret is not None:
        # The secret is not in the address, because people pass addresses on.
        for place in (path, f"/reports/{submitted.document.report.id}"):
            response.set_cookie(
                WITHDRAW_COOKIE,
                submitted.withdraw_secret,
                max_age=WITHDRAW_SECONDS,
                path=place,
                httponly=True,
                samesite="strict",
                secure=is_encrypted(request),
            )
    return response


def _page(
    session: Session,
    form: SubmissionForm,
    *,
    settings: ServiceSettings,
    seen: Preview | None = None,
    is_script: bool = False,
    problem: InputError | None = None,
) -> Response:
    script = seen.report.scripts[0] if seen is not None and seen.report.scripts else None
    return page(
        "plan.html",
        status=200 if problem is None else status_of(problem),
        values=form,
        problem=problem,
        presets=known_presets(settings).values(),
        known=[] if script is None else lazily(_known_reports, session, script),
        **submission_values(
            form.text.replace("\r\n", "\n"), seen, is_script=is_script, given_fields=form.fields
        ),
    )


def _known_reports(session: Session, script: ScriptPart) -> list[tuple[KnownReport, AnswerPart | None]]:
    """The reports with this script, each with its answer if one of its runs has ended."""
    return [
        (
            one,
            None
            if one.run is None
            else answer_of_run(session, one.run, report_id=one.id, attention=one.attention),
        )
        for one in known_reports(session, script.digest, script.script)
    ]


def _with_stance(form: SubmissionForm, *, settings: ServiceSettings) -> SubmissionForm:
    """The form with the claim as data that follows if an exhibit is read differently."""
    exhibit, _, word = form.stance.strip().partition(" ")
    if not exhibit:
        return form
    claim = claim_with_stances(submission_of(form), {exhibit: word}, settings=settings)
    return form.model_copy(update={"stance": "", "claim_data": claim, "claim_read": ""})
