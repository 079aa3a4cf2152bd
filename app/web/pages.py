"""Templates: one environment, autoescaped, with the filters that make hostile text visible."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.http.problems import Problem
from app.judging.values import written
from app.runs.as_read import needs_in_words, repair_diff
from app.runs.wording import BASIS, how_long, place_in_line
from app.web import display
from app.web.ansi import coloured
from app.web.cutting import ends, head
from app.web.hostile import clip, one_line, short_url, visible
from app.web.matrix_views import again_of, missing_of, run_to_add_to
from app.web.views import cards_alike, label_of, packages_held

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> Environment:
    """The templates' environment."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "visible": visible,
        "coloured": coloured,
        "head": head,
        "ends": ends,
        "one_line": one_line,
        "short_url": short_url,
        "clip": clip,
        "look": display.look,
        "alike": cards_alike,
        "held": packages_held,
        "repair_diff": repair_diff,
        "needs": needs_in_words,
        "written": written,
        "in_line": place_in_line,
        "how_long": how_long,
        "again": again_of,
        "missing": lambda comparison, run: missing_of(run, comparison),
        "run_to_add_to": run_to_add_to,
        "label": label_of,
    }
    made.globals |= {"display": display, "static": static_url, "BASIS": BASIS}
    return made


@cache
def static_url(name: str) -> str:
    """The address of a static file; it changes with the file."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A drawn page."""
    return HTMLResponse(environment().get_template(name).render(**values), status_code=status, headers={"Cache-Control": "no-store"})


_TITLES = {
    401: "This needs a token",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "That does not work here",
    409: "That is not possible as it stands",
    413: "That is too large",
    422: "That can't be used as it is",
    500: "That is our fault",
    503: "Not available right now",
}


def problem_page(_request: Request, problem: Problem) -> Response:
    """A problem for a reader."""
    return page("problem.html", status=problem.status, problem=problem, title=_TITLES.get(problem.status, problem.title))
