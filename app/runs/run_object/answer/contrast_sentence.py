"""The sentence about a place where the claimed check is not met: it supports a `reproduced`.

Pages, Markdown, brief and the command line have the same sentence. Text of a report is in none of them.
"""

from __future__ import annotations

from typing import NamedTuple

from app.judging.cause.defect import NOT_ANALYSED
from app.judging.judgement import Verdict
from app.judging.report.owner import Owner
from app.judging.verdict.contrast import ContrastKind
from app.judging.verdict.run import CAUSE_TESTS
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import RunDocument

_UNTESTED = {None, Verdict.CANNOT_SHOW, Verdict.NO_RESULT, Verdict.OBSERVED, Verdict.NEEDS_INFO}
_FREE = {Verdict.NOT_REPRODUCED, Verdict.DIFFERENT}
_FOUND = {
    ContrastKind.TARGET: "It does not happen on",
    ContrastKind.CONTROL: "The report's own control does not show it on",
}
_LOOKING = "One target more is being tried, to find one without it:"
_LOOKED = "No place without it was found, though one target more was tried for that:"
# Cells that only test for a cause are no contrast.
_TESTS_ONLY = "It happened with the usual settings wherever it could be tested, and not on"
_MAYBE_CHANCE = (
    "Where it was not seen, too few attempts ran to rule out chance. So nothing shows yet what it depends on."
)
_NONE_KNOWN = "No place is known to be free of it, so nothing shows yet what it depends on."
_SO = "so nothing shows yet what it depends on."


class ContrastSentence(NamedTuple):
    """The words, and the label of the target that ends them; both empty if there is nothing to say."""

    words: str = ""
    label: str = ""


def contrast_sentence(
    run: RunDocument,
    answer: AnswerPart | None = None,
    *,
    is_free_elsewhere: bool = False,
    is_known: bool = False,
) -> ContrastSentence:
    """The sentence about the contrast of a `reproduced`.

    `answer` is that of the report or the run. `is_free_elsewhere`: another run has a place without it.
    `is_known`: the report of the run says what it depends on.
    """
    answer = answer or run.answer
    contrast = run.contrast
    if contrast is None or run.verdict is not Verdict.REPRODUCED:
        return ContrastSentence()
    if contrast.kind is not ContrastKind.NONE:
        return ContrastSentence(_FOUND[contrast.kind], contrast.target or "")
    if not run.chance_where and (answer.baseline or answer.owner is Owner.SCRIPT):
        return ContrastSentence()
    if contrast.is_open:
        return ContrastSentence(_LOOKING, contrast.added or "")
    # A cause that a test has shown says what it depends on.
    is_explained = is_known or run.cause not in {None, NOT_ANALYSED}
    return (
        ContrastSentence()
        if is_explained
        else _without_contrast(run, contrast.added, is_free_elsewhere=is_free_elsewhere)
    )


def _without_contrast(run: RunDocument, added: str | None, *, is_free_elsewhere: bool) -> ContrastSentence:
    if added is not None:
        return ContrastSentence(_LOOKED, added)
    if run.chance_where:
        return ContrastSentence(_MAYBE_CHANCE)
    free = [job.target for job in run.jobs if job.verdict in _FREE and not job.is_contrast]
    if any(not CAUSE_TESTS.intersection(target.settings) for target in free):
        return ContrastSentence(_NONE_KNOWN)
    if free:
        return ContrastSentence(_TESTS_ONLY, free[0].label)
    here = "In the latest run it" if is_free_elsewhere else "It"
    tested = {job.target.label for job in run.jobs if job.verdict not in _UNTESTED}
    could = "could be tested" if any(job.verdict in _UNTESTED for job in run.jobs) else "was tried"
    if len(tested) == 1:
        return ContrastSentence(f"{here} {could} in one place only, {_SO}")
    return ContrastSentence(f"{here} happened in every place that {could}, {_SO}")
