"""The values for the template of a run's page."""

from __future__ import annotations

from typing import Any

from app.runs.run_object.document import RunDocument
from app.runs.run_object.reading_notes import environment_differences
from app.states import OPEN_STATES
from app.web.views import runs as views
from app.web.views.environments import environment_views
from app.web.views.markdown_copy import run_markdown
from app.web.views.wording import defect_words, headline

MOST_ENVIRONMENTS = 8


def run_values(document: RunDocument, *, address: str, start: int = 0) -> dict[str, Any]:
    """The values. `address` is the whole address of the page, and `start` is the first cell that it shows."""
    run = views.without_erased(document)
    cells = views.cells_of(run)
    comparisons = views.comparisons_of(run)
    return {
        "run": run,
        "headline": headline(run),
        "defect": defect_words(run, why=False),
        "cells": cells[start : start + views.MOST_CELLS],
        "cells_all": len(cells),
        "start": start,
        "tally": views.tally_of(run),
        "checks": views.checks_of(run),
        "place": environment_differences(run),
        "comparisons": comparisons[: views.MOST_COMPARED],
        "comparisons_all": len(comparisons),
        "traces": views.traces_of(run),
        "attempts": views.attempt_table(run),
        "printed": views.printed_texts(run),
        "command": views.command_of(run),
        "environments": environment_views(
            run.environments, most=MOST_ENVIRONMENTS, most_rows=views.MOST_FACTS
        ),
        "live": run.state in OPEN_STATES,
        "markdown": run_markdown(run, address=address),
    }
