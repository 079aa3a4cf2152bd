"""Parts of a run as Markdown for GitHub: text that stays text, and the table of cells."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from app.runs.run_object.document import JobPart

MOST_CELLS = 100
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-!|~@:/.])")
# GitHub looks for these in the text that Markdown has become, so that no escape keeps it from them: people
# and teams, issues (`#1`, `GH-1`) and addresses. A word joiner, which nobody sees, breaks them.
_REFERENCES = re.compile(r"(?<=[@#])|(?<=\bGH)(?=-)|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_JOINER = "\u2060"


def plain(text: str) -> str:
    """A text on one line that GitHub shows as it is: no link, no mention, no reference, no image, no HTML."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return _MARKS.sub(r"\\\1", html.escape(_REFERENCES.sub(_JOINER, line), quote=False))


def cell_table(jobs: Sequence[JobPart], *, most: int = MOST_CELLS) -> Iterator[str]:
    """The lines of a table: each cell with its verdict and its counts."""
    yield "| target | verdict | seen |"
    yield "|---|---|---|"
    for job in jobs[:most]:
        verdict = plain((job.verdict or job.state).replace("_", " "))
        yield f"| {plain(job.target.label)} | {verdict} | {job.matched} of {job.of} |"
    if len(jobs) > most:
        yield f"| {len(jobs) - most} more | | |"
