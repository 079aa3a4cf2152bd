"""Changes over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.bodies import PageBody
from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.problems import problem_responses
from app.http.state import SessionDep
from app.judging.report.change import ChangeKind
from app.judging.report.triage import TriageGroup
from app.runs.lookup.changes import ChangeSummary, list_changes

router = APIRouter(tags=["changes"], route_class=CheckedRoute)


@router.get("/changes", operation_id="list_changes", responses=problem_responses(401, 422))
def get_changes(
    *,
    session: SessionDep,
    _may: CanRead,
    kind: Annotated[
        list[ChangeKind] | None,
        Query(description="repeat the parameter for several kinds; default: all kinds"),
    ] = None,
    group: Annotated[
        TriageGroup | None, Query(description="only regressions of this group; default: all changes")
    ] = None,
    toolchain: Annotated[
        str,
        Query(
            max_length=100,
            description="the newer toolchain; `newest` stands for the newest release line (2.4 for 2.4.6)"
            " of torch and numpy that the report was tried with",
        ),
    ] = "",
    report: Annotated[str | None, Query(max_length=26, description="the id of a report")] = None,
    since: Annotated[
        str, Query(max_length=40, description="a date, or a date with a time", examples=["2026-11-01"])
    ] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[ChangeSummary]:
    """Changes of the verdict between two cells of a report, newest first: regressions, fixes and others."""
    return PageBody.of(
        list_changes(
            session,
            kinds=kind or ([ChangeKind.REGRESSED] if group is not None else ()),
            group=group,
            toolchain=toolchain,
            report=report,
            since=since,
            cursor=cursor,
            limit=limit,
        )
    )
