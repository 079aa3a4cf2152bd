"""Refuses query parameters that a route does not know: `?dryrun=1` must not run what `?dry_run=1` plans."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import cast

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.errors import InputError

# How much of an unknown name is shown.
SHOWN_CHARACTERS = 60


async def refuse_unknown_query(request: Request) -> None:
    """A dependency of routers. Raises InputError for the first parameter that the route does not have."""
    if not request.query_params:
        return
    route = cast("APIRoute", request.scope["route"])
    known = sorted(set(_names(route.dependant)))
    for name in request.query_params:
        if name not in known:
            raise InputError(
                _message(name, known), code="unknown_query_parameter", field=name[:SHOWN_CHARACTERS]
            )


async def refuse_unknown_query_of_forms(request: Request) -> None:
    """As `refuse_unknown_query`, for forms. Links to pages may carry marks of other sites."""
    if request.method not in {"GET", "HEAD"}:
        await refuse_unknown_query(request)


def _names(dependant: Dependant) -> Iterator[str]:
    """The query parameters of a route, and of everything that it depends on."""
    for field in dependant.query_params:
        yield field.alias
    for each in dependant.dependencies:
        yield from _names(each)


def _message(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    if nearest:
        advice = f"The nearest one that it takes is {nearest[0]}."
    elif known:
        advice = f"It takes {', '.join(known)}."
    else:
        advice = "It takes none."
    return f"This address has no query parameter {name[:SHOWN_CHARACTERS]!a}. {advice}"
