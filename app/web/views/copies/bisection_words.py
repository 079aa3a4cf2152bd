"""The sentence about a bisection on the page of its report and in the Markdown, in our own words."""

from __future__ import annotations

from collections.abc import Sequence

from app.runs.run_object.bisection_document import BisectionPart
from app.states import OPEN_STATES


def bisected_words(bisection: BisectionPart) -> str:
    """One bisection: over what, how far it is, and its answer with the probability."""
    state = {"cancelled": " (cancelled)"}.get(bisection.state, "")
    if bisection.state in OPEN_STATES:
        state = " (not finished)"
    return f"Bisected over {bisection.axis}{state}: {bisection.summary or 'nothing was tried yet.'}"


def latest_bisections(bisections: Sequence[BisectionPart]) -> list[BisectionPart]:
    """The newest bisection of each axis that has an answer, and those that go on."""
    latest: dict[str, BisectionPart] = {}
    for bisection in bisections:
        if bisection.kind is not None or bisection.state in OPEN_STATES:
            latest.setdefault(bisection.axis, bisection)
    return list(latest.values())
