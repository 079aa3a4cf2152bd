"""The page of the nodes, their toolchains, and the quarantine."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.http.access import CanRead, ViewerDep
from app.http.checked_route import CheckedRoute
from app.http.state import BrokerDep, SessionDep
from app.runs.maintenance.quarantine import active_quarantines
from app.runs.rows.nodes import list_nodes_and_figures
from app.web.pages import page
from app.web.parts import lazily
from app.web.views.grouped_rows import toolchain_rows

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.get("/nodes")
def get_nodes(
    session: SessionDep,
    broker: BrokerDep,
    _may: CanRead,
    viewer: ViewerDep,
    start: Annotated[int, Query(alias="from", ge=0, le=10_000)] = 0,
) -> Response:
    """The machines that run scripts."""
    nodes = list_nodes_and_figures(session, broker)
    return page(
        "nodes.html",
        nodes=nodes,
        viewer=viewer,
        start=start,
        toolchains=lazily(toolchain_rows, nodes),
        quarantines=lazily(active_quarantines, session),
    )
