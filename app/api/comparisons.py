"""Comparisons of two attempts over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.problems import problem_responses
from app.http.state import SessionDep
from app.runs.lookup.comparisons import ComparisonDetails, comparison

router = APIRouter(tags=["comparisons"], route_class=CheckedRoute)
ComparisonId = Annotated[
    str,
    Path(
        description=(
            "`{baseline}-{candidate}`: the ids of two attempts. Their runs may differ. The baseline is the"
            " expected side: errors and tolerances are relative to it."
        ),
        examples=["01k1v3q4x5y6z7a8b9c0d1e2f3-01k1v3q4x5y6z7a8b9c0d1e2f4"],
    ),
]


@router.get(
    "/comparisons/{comparison_id}", operation_id="get_comparison", responses=problem_responses(401, 404, 409)
)
def get_comparison(comparison_id: ComparisonId, session: SessionDep, _may: CanRead) -> ComparisonDetails:
    """Compare outputs, values and environments of two attempts. `409` while one is not recorded."""
    return comparison(session, comparison_id)
