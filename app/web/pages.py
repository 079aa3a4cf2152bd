"""Renders pages from templates. Everything is escaped, and filters make hostile text visible."""

from __future__ import annotations

import hashlib
import re
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
from app.clock import now
from app.http.problems import Problem
from app.intake.text.corrected_environment import field_words
from app.judging.comparison.values import value_text
from app.runs.estimates.wording import (
    BASIS,
    STAGES,
    end_of_stage,
    how_long,
    queue_position_text,
    time_since,
)
from app.runs.run_object.answer.check_findings import told_apart
from app.runs.run_object.answer.disposition_part import (
    DISPOSITIONS,
    STANDARD_REASONS,
    UNDO_CLOSING,
    UNDO_CONFIRMING,
    person_words,
)
from app.runs.run_object.answer.new_warnings import warning_text
from app.runs.run_object.reading_notes import needs_in_words, outcomes_in_words, repair_diff
from app.runs.run_object.removal_part import removal_words, warning_words
from app.visible_text import visible
from app.web.parts import LazyContext, PartExtension, failed_parts, page_with
from app.web.text import badges, labels, short_texts, text_budget
from app.web.text.ansi import with_colours
from app.web.text.direction import source_code
from app.web.views import exhibits
from app.web.views import runs as views
from app.web.views.copies.bisection_words import bisected_words
from app.web.views.grouped_rows import card_figures_words, flip_counts, plan_rows, stretches
from app.web.views.matrices import missing_cell, rerun_choices, run_to_add_to
from app.web.views.wording import SCOPE_FILTERS

# True while a demo instance answers. Its history was recorded elsewhere, and every page says so.
IS_DEMO: ContextVar[bool] = ContextVar("is_demo", default=False)
# The page of a report with 400 cells takes 100 ms to render. The cache has room for some hundreds of them.
_PAGES: SizedCache[str] = SizedCache(32 * 2**20)
HERE = Path(__file__).parent
STATIC = HERE / "static"
# The limits of rows on a page.
MOST = {
    "MOST_NODES": 40,
    "MOST_TOOLCHAINS": 80,
    "MOST_ACTS": 30,
    "MOST_PRINTED": views.MOST_PRINTED,
    "MOST_WARNINGS": 40,
}


_NEED_FILTERS = {"needs": needs_in_words, "outcomes": outcomes_in_words}
UNDOING = {
    "STANDARD_REASONS": STANDARD_REASONS,
    "UNDO_CLOSING": UNDO_CLOSING,
    "UNDO_CONFIRMING": UNDO_CONFIRMING,
}
_CONSTANTS = {"BASIS": BASIS, "STAGES": STAGES, "DISPOSITIONS": DISPOSITIONS, **UNDOING, **MOST}


@cache
def environment() -> Environment:
    """The environment of the templates."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[PartExtension],
    )
    templates.context_class = LazyContext
    templates.filters |= {
        "visible": text_budget.visible,
        # Without a budget: for a text that is cut already, or that we made ourselves.
        "shown": visible,
        "source_code": source_code,
        "with_colours": with_colours,
        "head": text_budget.head,
        "ends": text_budget.ends,
        "one_line": text_budget.one_line,
        "short_url": text_budget.short_url,
        "with_code": short_texts.with_code,
        "clip": text_budget.clip,
        "mark_differences": text_budget.mark_differences,
        "look": labels.look,
        "new_warning": warning_text,
        "field": field_words,
        "person": person_words,
        **SCOPE_FILTERS,
        "owner_words": labels.owner_words,
        "card_groups": views.card_groups,
        "card_figures": card_figures_words,
        "package_list": views.package_list,
        "repair_diff": repair_diff,
        **_NEED_FILTERS,
        "removal": removal_words,
        "warning": warning_words,
        "written": value_text,
        "queue_position": queue_position_text,
        "how_long": how_long,
        "end_of_stage": end_of_stage,
        "bisected": lambda bisection: visible(bisected_words(bisection)),
        "time_since": lambda moment: time_since(moment, now()),
        "rerun_choices": rerun_choices,
        "missing_cell": lambda comparison, run: missing_cell(run, comparison),
        "run_to_add_to": run_to_add_to,
        "plan_rows": plan_rows,
        "stretches": stretches,
        "flip_counts": flip_counts,
    }
    templates.globals |= {
        "labels": labels,
        "badges": badges,
        "static": static_url,
        "exhibits": exhibits,
        "told_apart": told_apart,
        **_CONSTANTS,
    }
    return templates


@cache
def static_url(name: str) -> str:
    """The address of a static file. It changes with the content of the file."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The answer with a page that is rendered from a template."""
    return html_response(render(name, **values), status=status)


def render(name: str, **values: Any) -> str:
    """A page as HTML."""
    with text_budget.page_budget(), page_with(values):
        return environment().get_template(name).render(demo=IS_DEMO.get(), **values)


def html_response(text: str, *, status: int = 200) -> HTMLResponse:
    """The answer with a rendered page."""
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store"})


def render_cached(sources: str | None, render_text: Callable[[], str]) -> str:
    """The cached text for these sources, else a newly rendered one.

    `sources` names everything that the text depends on. If it is None, the text may change and is not cached.
    A text with a part that can't be shown is not cached either: the fault may pass.
    """
    if sources is None:
        return render_text()
    key = f"{IS_DEMO.get()} {sources}"
    text = _PAGES.find(key)
    if text is None:
        with failed_parts() as failed:
            text = render_text()
        if not failed:
            _PAGES.store(key, text, len(text))
    return text


_TITLES = {
    401: "This needs a token",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "That does not work here",
    409: "That is not possible now",
    413: "That is too large",
    422: "Please check your input",
    500: "Something went wrong on our side",
    503: "Not available right now",
}


# The address to which a form of a report's page was sent.
_ACT_ON_REPORT = re.compile(r"/reports/([0-9a-z]{26})/[a-z-]+")


def problem_page(request: Request, problem: Problem) -> Response:
    """An error as a page. If a form of a report's page was refused, there is a way back to it."""
    act = _ACT_ON_REPORT.fullmatch(request.url.path) if problem.status != 404 else None
    return page(
        "problem.html",
        status=problem.status,
        problem=problem,
        report=act and act[1],
        title=_TITLES.get(problem.status, problem.title),
    )


class DemoMiddleware:
    """Marks each request to a demo instance, so that its pages can say so."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        IS_DEMO.set(True)
        await self._application(scope, receive, send)
