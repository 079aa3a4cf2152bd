"""The page that shows two attempts side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep
from app.runs.lookup.comparisons import attempt_pair, attempts_of, compare_pair
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import page
from app.web.parts import lazily
from app.web.views.copies.copied_pages import comparison_markdown
from app.web.views.side_by_side import comparison_values

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
Id = Annotated[str, Query(max_length=100)]


@router.get("/compare.md")
@router.get("/compare.json")
@router.get("/compare")
def get_compare(
    *,
    request: Request,
    session: SessionDep,
    _may: CanRead,
    baseline: Id = "",
    candidate: Id = "",
    comparison_id: Annotated[str, Query(alias="id", max_length=100)] = "",
) -> Response:
    """Two attempts by their ids, or a stored comparison by its id. Without any id: a form.

    Raises InputError for Markdown or JSON without ids.
    """
    one, other = baseline.strip(), candidate.strip()
    if not (comparison_id or one or other):
        return page("compare_form.html")
    if comparison_id:
        one, other = attempts_of(comparison_id)
    pair = attempt_pair(session, one, other)
    details = lazily(compare_pair, session, pair)
    chosen = negotiate_format(request.url.path, request)[1]
    if chosen is Format.JSON:
        return as_json(details())
    if chosen is Format.MARKDOWN:
        address = address_of(request, f"/compare?baseline={one}&candidate={other}")
        return as_markdown(comparison_markdown(details(), address=address))
    return page("compare.html", **comparison_values(pair, details))
