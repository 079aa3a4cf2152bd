"""The values for the template of a run's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.answer.flips import flip_in
from app.runs.run_object.answer.new_warnings import NewWarning, new_warnings_of
from app.runs.run_object.document import RunDocument
from app.runs.run_object.reading_notes import environment_differences
from app.states import OPEN_STATES
from app.web.parts import Lazy, lazily
from app.web.text.labels import STATES
from app.web.views import runs as views
from app.web.views.environments import environment_views
from app.web.views.markdown_copy import run_markdown
from app.web.views.wording import cause_test_words, next_words

MOST_ENVIRONMENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the lists of a run's page begin: the numbers of cells, comparisons and environments before."""

    cell: int = 0
    comparison: int = 0
    environment: int = 0

    def link(self, **beginnings: int) -> str:
        """The query of the page with another beginning of one list."""
        return urlencode(
            {
                name: number
                for name, number in {
                    "from": beginnings.get("cell", self.cell),
                    "compared": beginnings.get("comparison", self.comparison),
                    "environment": beginnings.get("environment", self.environment),
                }.items()
                if number
            }
        )


FIRST = Places()


def state_words(run: RunDocument) -> str:
    """The state of a run in words. It runs only if one of its cells does."""
    stages = {job.progress.stage for job in run.jobs if job.progress is not None}
    if run.state == "running" and "waits_for_place" in stages and "running" not in stages:
        return "waiting for a free place"
    return STATES[run.state]


def run_values(
    document: RunDocument,
    *,
    address: str,
    places: Places = FIRST,
    of_report: str = "",
    is_decided: bool = False,
) -> dict[str, Any]:
    """The values, most of them lazy.

    `of_report` is what the report knows beyond the run. `is_decided`: a maintainer said the last word.

    `address` is the whole address of the page, and `places` are the beginnings of its long lists.
    """
    run = views.without_erased(document)
    cells = lazily(views.cells_of, run)
    comparisons = lazily(views.comparisons_of, run)
    return {
        "run": run,
        "tested": lazily(cause_test_words, run),
        "next_words": Lazy(
            lambda: next_words(run, run.answer.owner, is_decided=is_decided or bool(of_report))
        ),
        "of_report": of_report,
        # The report may know what it depends on.
        "contrast": lazily(contrast_sentence, run, is_known=bool(of_report)),
        "new_warnings": lazily(_new_warnings, run),
        "cells": Lazy(lambda: cells()[places.cell : places.cell + views.MOST_CELLS]),
        "cells_all": len(run.jobs),
        "start": places.cell,
        "places": places,
        "tally": lazily(views.tally_of, run),
        "checks": lazily(views.checks_of, run),
        "place": lazily(environment_differences, run),
        "comparisons": Lazy(lambda: comparisons()[places.comparison :][: views.MOST_COMPARED]),
        "comparisons_all": len(run.comparisons),
        "traces": lazily(views.traces_of, run),
        "attempts": lazily(views.attempt_table, run),
        "printed": lazily(views.printed_texts, run),
        "command": lazily(views.command_of, run),
        "environments": lazily(
            environment_views,
            run.environments,
            start=places.environment,
            most=MOST_ENVIRONMENTS,
            most_rows=views.MOST_FACTS,
        ),
        "live": run.state in OPEN_STATES,
        # A cell that looks for a contrast goes on after the run has ended.
        "moves": run.state in OPEN_STATES or (run.contrast is not None and run.contrast.is_open),
        "state_words": state_words(run),
        "markdown": lazily(run_markdown, run, address=address, of_report=of_report),
    }


def _new_warnings(run: RunDocument) -> list[NewWarning]:
    return new_warnings_of(flip_in(run))
