"""The home page: regressions, the reports that need attention, and the box for a submission."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep, SettingsDep
from app.judging.report.attention import Attention
from app.judging.report.triage import TriageGroup
from app.runs.lookup.attention import Group, group, groups
from app.runs.lookup.reports import list_reports
from app.runs.lookup.triage import triage
from app.runs.rows.nodes import fleet
from app.targets.fleet import usable_toolchains
from app.web.pages import page
from app.web.parts import Lazy, lazily
from worker.contract.programs.probe import probe_program

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
# The limits of the home page: newest reports, reports of each group, and lines of each group of triage.
MOST_RECENT, MOST_OF_A_GROUP, MOST_OF_TRIAGE = 8, 6, 10


@router.get("/")
def get_home(session: SessionDep, settings: SettingsDep, _may: CanRead) -> Response:
    """The regressions, the reports that need attention, and the box for a submission."""
    regressions = lazily(triage, session, each=MOST_OF_TRIAGE)

    def other_groups() -> list[Group]:
        newest = regressions()
        # Those in the folded group are listed once more: a confirmed bug still happens.
        parts = [part for part in newest.parts if part.group is not TriageGroup.SETTLED] if newest else []
        above = {line.change.report for part in parts for line in part.lines}
        return groups(session, each=MOST_OF_A_GROUP, without=above)

    return page(
        "home.html",
        can_run=Lazy(lambda: bool(usable_toolchains(fleet(session, settings=settings)))),
        triage=regressions,
        groups=Lazy(other_groups),
        recent=Lazy(lambda: list_reports(session, limit=MOST_RECENT).items),
    )


@router.get("/attention/{attention}")
def get_attention(
    attention: Attention, session: SessionDep, _may: CanRead, cursor: str | None = None
) -> Response:
    """All reports of one group. The most recently verified ones come first."""
    return page("attention.html", group=group(session, attention, cursor=cursor, limit=50))


@router.get("/probe.py")
def get_probe(_may: CanRead) -> Response:
    """The program that a reporter runs in their own Python."""
    headers = {"Content-Disposition": 'attachment; filename="probe.py"'}
    return PlainTextResponse(probe_program(), media_type="text/x-python", headers=headers)
