"""Templates: one environment, autoescaped, with the filters that make hostile text visible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.types import ASGIApp, Receive, Scope, Send

from app.cache import SizedCache
from app.http.problems import Problem
from app.judging.comparison.values import value_text
from app.runs.estimates.wording import BASIS, how_long, queue_position_text
from app.runs.run_object.reading_notes import needs_in_words, repair_diff
from app.visible_text import visible
from app.web.text import labels, text_budget
from app.web.text.ansi import coloured
from app.web.views import runs as views
from app.web.views.grouped_rows import flips, planned, stretches
from app.web.views.matrices import again_of, missing_of, run_to_add_to

# Of the application that answers: whether its history was recorded elsewhere. Every page says so, also those of problems.
IS_DEMO: ContextVar[bool] = ContextVar("is_demo", default=False)
# The page of a report with 400 cells takes 100 ms to draw; there is room for some hundreds.
_PAGES: SizedCache[str] = SizedCache(32 * 2**20)
HERE = Path(__file__).parent
STATIC = HERE / "static"
# Rows of a page.
MOST = {"MOST_NODES": 40, "MOST_TOOLCHAINS": 80, "MOST_ACTS": 30, "MOST_PRINTED": views.MOST_PRINTED}


@cache
def environment() -> Environment:
    """The templates' environment."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "visible": text_budget.visible,
        # Of what has been cut, or is no longer than we made it.
        "shown": visible,
        "coloured": coloured,
        "head": text_budget.head,
        "ends": text_budget.ends,
        "one_line": text_budget.one_line,
        "short_url": text_budget.short_url,
        "clip": text_budget.clip,
        "marked": text_budget.marked,
        "look": labels.look,
        "alike": views.cards_alike,
        "held": views.packages_held,
        "repair_diff": repair_diff,
        "needs": needs_in_words,
        "written": value_text,
        "in_line": queue_position_text,
        "how_long": how_long,
        "again": again_of,
        "missing": lambda comparison, run: missing_of(run, comparison),
        "run_to_add_to": run_to_add_to,
        "planned": planned,
        "stretches": stretches,
        "flips": flips,
    }
    made.globals |= {"labels": labels, "static": static_url, "BASIS": BASIS, **MOST}
    return made


@cache
def static_url(name: str) -> str:
    """The address of a static file; it changes with the file."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page as it is answered."""
    return as_page(drawn(name, **values), status=status)


def drawn(name: str, **values: Any) -> str:
    """A page, drawn."""
    with text_budget.room():
        return environment().get_template(name).render(demo=IS_DEMO.get(), **values)


def as_page(text: str, *, status: int = 200) -> HTMLResponse:
    """The answer with a page that is drawn."""
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store"})


def drawn_lately(made_from: str | None, draw: Callable[[], str]) -> str:
    """What was drawn from the same lately, else drawn now; `made_from` names all that it tells, and is None where that may change yet."""
    if made_from is None:
        return draw()
    known = f"{IS_DEMO.get()} {made_from}"
    text = _PAGES.find(known)
    if text is None:
        text = draw()
        _PAGES.store(known, text, len(text))
    return text


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
    return page(
        "problem.html",
        status=problem.status,
        problem=problem,
        title=_TITLES.get(problem.status, problem.title),
    )


class SaysDemo:
    """Marks each request of a demo instance, for the pages."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        IS_DEMO.set(True)
        await self._application(scope, receive, send)
