"""Changes over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.bodies import PageBody
from app.http.access import CanRead
from app.http.problems import documented
from app.http.state import SessionDep
from app.judging.report.change import ChangeKind
from app.runs.lookup.changes import ChangeSummary, list_changes

router = APIRouter(tags=["changes"])


@router.get("/changes", operation_id="list_changes", responses=documented(401, 422))
def get_changes(
    *,
    session: SessionDep,
    _may: CanRead,
    kind: Annotated[list[ChangeKind] | None, Query(description="again for more; default: all")] = None,
    toolchain: Annotated[
        str,
        Query(
            max_length=100,
            description="of the newer side; `newest`: of the newest releases of torch and of numpy",
        ),
    ] = "",
    report: Annotated[str | None, Query(max_length=26, description="the id of a report")] = None,
    since: Annotated[
        str, Query(max_length=40, description="a day or a moment", examples=["2026-11-01"])
    ] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[ChangeSummary]:
    """What regressed, was fixed or changed in another way between two cells of a report, newest first."""
    return PageBody.of(
        list_changes(
            session,
            kinds=kind or (),
            toolchain=toolchain,
            report=report,
            since=since,
            cursor=cursor,
            limit=limit,
        )
    )
