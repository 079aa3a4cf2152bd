"""Bisections over REST: start, read, list, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from app.api.bodies import Body, PageBody, TargetBody, Words
from app.api.runs import Key
from app.errors import InputError
from app.http.access import CanRead, CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import BODY, LOCATION, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import CanCancel
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.bisection_state import MOST_ATTEMPTS, BisectionRequest
from app.runs.submission.bisections import (
    bisection_document,
    bisections_of_report,
    cancel_bisection,
    start_bisection,
)
from app.targets.versions.bisection import ERROR

router = APIRouter(tags=["bisections"], route_class=CheckedRoute)


class BisectionBody(Body):
    """The series to search, and how sure the answer has to be."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"over": "numpy", "from": "1.26", "to": "2.2"}]}
    )

    over: Words = Field(
        min_length=1,
        max_length=100,
        description="a package, `python`, `threads` or `cpu-isa`",
        examples=["torch"],
    )
    begin: Words | None = Field(
        default=None, alias="from", max_length=100, description="where the series begins", examples=["2.1"]
    )
    end: Words | None = Field(
        default=None, alias="to", max_length=100, description="where the series ends", examples=["2.13"]
    )
    toolchains: list[Words] = Field(
        default_factory=list, max_length=400, description="only these toolchains, by their full names"
    )
    target: TargetBody = Field(
        default_factory=TargetBody, description="the device and settings of every point"
    )
    error: float = Field(
        default=ERROR, gt=0, lt=0.5, description="the highest accepted probability of a wrong answer"
    )
    most_attempts: int = Field(default=MOST_ATTEMPTS, ge=2, le=2 * MOST_ATTEMPTS)

    def request(self) -> BisectionRequest:
        """The request. Raises InputError."""
        if not self.over.strip():
            raise InputError("over is the name of an axis, such as torch.", code="bad_series", field="over")
        return BisectionRequest(
            axis=self.over.strip(),
            base=self.target.target(),
            begin=self.begin,
            end=self.end,
            toolchains=tuple(self.toolchains),
            error=self.error,
            most_attempts=self.most_attempts,
        )


@router.post(
    "/reports/{report_id}/bisections",
    operation_id="bisect_report",
    status_code=202,
    response_model=BisectionDocument,
    responses={202: LOCATION, **problem_responses(401, 404, 409, *BODY)},
)
def post_bisection(
    *,
    report_id: str,
    body: BisectionBody,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    who: CanSubmit,
    idempotency_key: Key = None,
) -> BisectionDocument:
    """Find the version or the value where the reported bug appears or ends. Its run has the same id."""
    document = start_bisection(
        session,
        report_id,
        body.request(),
        settings=settings,
        asked_by=None if who is None else who.name,
        who=token_of(who),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/v1/bisections/{document.id}"
    return document


@router.get(
    "/reports/{report_id}/bisections",
    operation_id="list_bisections",
    responses=problem_responses(401, 404, 422),
)
def get_bisections(
    report_id: str,
    session: SessionDep,
    _may: CanRead,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[BisectionDocument]:
    """The bisections of a report, newest first."""
    return PageBody.of(bisections_of_report(session, report_id, cursor=cursor, limit=limit))


@router.get("/bisections/{bisection_id}", operation_id="get_bisection", responses=problem_responses(401, 404))
def get_bisection(bisection_id: str, session: SessionDep, _may: CanRead) -> BisectionDocument:
    """A bisection with its results so far."""
    return bisection_document(session, bisection_id)


@router.post(
    "/bisections/{bisection_id}/cancel",
    operation_id="cancel_bisection",
    responses=problem_responses(401, 404, 409, 422),
)
def post_cancel(
    bisection_id: str, session: SessionDep, may: CanCancel, idempotency_key: Key = None
) -> BisectionDocument:
    """Cancel a bisection. Its submitter and maintainers can do this. Its results so far are kept."""
    return cancel_bisection(session, bisection_id, who=token_of(may), idempotency_key=idempotency_key)
