"""Sentences about the limits of a verdict: a model sees them beside the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from app.judging.judgement import Defect, Scope, Verdict
from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.document import RunDocument

_OPEN_VERDICTS = {
    Verdict.NEEDS_INFO: (
        "This is no `not_reproduced`: nothing was run, because the report lacks something that only its"
        " reporter can give. Ask for it; see `ask`."
    ),
    Verdict.CANNOT_SHOW: (
        "This is no `not_reproduced`: the claim could not be tested here; `reason` of each cell says why. It"
        " says nothing for or against the report."
    ),
    Verdict.NO_RESULT: (
        "This is no `not_reproduced`: nothing that counts could be recorded, which is a fault of the service."
        " Run it again."
    ),
    Verdict.OBSERVED: (
        "This is no `not_reproduced`: the report makes no claim that can be checked. Send a claim to get a"
        " verdict."
    ),
    Verdict.DIFFERENT: (
        "This is no `not_reproduced` and no fix: something else happened than the report says. A person"
        " should look at it."
    ),
    Verdict.FLAKY: "It happened in some attempts and not in others. One attempt without it is no fix.",
}


def caveats_of(run: RunDocument) -> list[str]:
    """The caveats of a run, the most important first. They hold only words of ours."""
    return list(_caveats(run))


def _caveats(run: RunDocument) -> Iterator[str]:
    yield from _of_maintainers(run)
    verdict = run.verdict
    if verdict is None:
        yield _without_verdict(run)
        verdict = run.so_far
    if verdict in _OPEN_VERDICTS:
        yield _OPEN_VERDICTS[verdict]
    if verdict is Verdict.NOT_REPRODUCED:
        yield from _of_absence(run)
    if verdict is Verdict.REPRODUCED:
        yield from _of_sighting(run)
    if run.without_result:
        yield f"{run.without_result} of {len(run.jobs)} cells have no result. They count neither way."
    if run.outdated is not None and run.outdated.verdict is not verdict:
        yield f"By the present rules the verdict would be {run.outdated.verdict or 'open'}."
    if run.contributed is not None:
        yield "The run was contributed from elsewhere. It decides nothing about its report."


def _of_maintainers(run: RunDocument) -> Iterator[str]:
    if run.withdrawn_at is not None:
        yield "The report was withdrawn. Its text and its output are erased."
    if run.overruled is not None:
        yield (
            f"A maintainer overruled the verdict: {run.overruled.verdict}. That word counts before the"
            " measured one."
        )


def _without_verdict(run: RunDocument) -> str:
    if run.state == "cancelled":
        return "The run was cancelled, so there is no verdict. This is no `not_reproduced`."
    return (
        "The run has not ended, so there is no verdict yet. `so_far` may still change; act on nothing before"
        " `verdict` is set."
    )


def _of_absence(run: RunDocument) -> Iterator[str]:
    if run.scope is not Scope.AS_REPORTED:
        where, verb = "not in the reporter's environment", "differs"
        if not run.report.environment:
            where, verb = "the report names no environment", "may differ"
        differs = f" It {verb} in: {', '.join(run.scope_differs)}." if run.scope_differs else ""
        yield f"It did not happen, but {where}: this does not contradict the report.{differs}"
    bounds = [job.rate_upper_bound for job in run.jobs if job.rate_upper_bound is not None]
    if bounds:
        yield (
            f"It was not seen. It may still happen in up to {max(bounds):.0%} of attempts on such a machine"
            " (95 %), and other machines may differ."
        )
    yield "`not_reproduced` does not mean fixed. The tool `gate` says whether it is fixed in a version."


def _of_sighting(run: RunDocument) -> Iterator[str]:
    if run.defect is Defect.NO:
        yield "`reproduced` means that it happens. A test shows that it is no defect; `cause` names it."
    elif run.defect is Defect.UNDECIDED:
        yield "`reproduced` means that it happens, not that it is a bug: `defect` is undecided."
    if run.contrast is not None and run.contrast.is_open:
        yield "One target more is being tried, to find one that lacks it. Only `contrast` may still change."
    elif run.contrast is not None and run.contrast.kind == "none":
        words, label = contrast_sentence(run)
        if words:
            yield f"{words} {label}." if label else words
