"""Comparisons over REST: any two attempts beside each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.http.access import CanRead
from app.http.problems import documented
from app.http.state import SessionDep
from app.runs.lookup.comparisons import ComparisonDetails, comparison

router = APIRouter(tags=["comparisons"])
ComparisonId = Annotated[
    str,
    Path(
        description=(
            "`{baseline}-{candidate}`, two ids of attempts, also of different runs. The order matters: relative errors and tolerances are"
            " relative to the baseline, which is what is expected."
        ),
        examples=["01k1v3q4x5y6z7a8b9c0d1e2f3-01k1v3q4x5y6z7a8b9c0d1e2f4"],
    ),
]


@router.get(
    "/comparisons/{comparison_id}", operation_id="get_comparison", responses=documented(401, 404, 409)
)
def get_comparison(comparison_id: ComparisonId, session: SessionDep, _may: CanRead) -> ComparisonDetails:
    """Two recorded attempts side by side: what they printed, held and ran in. `409` while one of them is not recorded."""
    return comparison(session, comparison_id)
