"""The sentences at the head of a page, in simple English. They never contain text of a report or a script."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.cause.cause import sentence
from app.judging.judgement import DEVIATIONS, Defect, Scope, Verdict
from app.judging.verdict.contrast import ContrastKind
from app.judging.verdict.run import CAUSE_TESTS
from app.runs.run_object.document import RunDocument
from app.states import OPEN_STATES
from app.web.views.runs import label_of

NOT_DECIDED = "It happens. Whether it is a bug is not decided here."


CONTRASTS = {
    ContrastKind.TARGET: "Contrast: the same check is not met on",
    ContrastKind.CONTROL: "Contrast: the report's control does not show it on",
    ContrastKind.NONE: "Contrast: none. Nothing in this run is free of it, so it may have another cause.",
}


def headline(run: RunDocument, *, tried_more: bool = False) -> str:  # noqa: PLR0911 - one sentence a verdict
    """The verdict in one short sentence.

    While the run goes on, only verdicts that more attempts can't undo are named. With `tried_more` it says
    "last", because earlier runs of the report had other targets.
    """
    targets, when = _count_targets(run), " last" if tried_more else ""
    match run.verdict or (run.so_far if run.so_far in DEVIATIONS else None):
        case Verdict.NEEDS_INFO:
            return "The report lacks something, so nothing was run."
        case Verdict.REPRODUCED:
            return f"It happens, as reported, on {_share(len(run.where), targets, when)}."
        case Verdict.FLAKY:
            return f"It happens, as reported, but not every time: {_rate(run)}."
        case Verdict.DIFFERENT:
            where = _share(len(run.not_where), targets, when)
            return f"Something else happens than what is reported, on {where}."
        case Verdict.NOT_REPRODUCED if run.scope is Scope.AS_REPORTED:
            where = _share(len(run.not_where), targets, when)
            return f"It does not happen on {where}, not even in the reported environment."
        case Verdict.NOT_REPRODUCED:
            return f"It does not happen on {_share(len(run.not_where), targets, when)}."
        case Verdict.CANNOT_SHOW:
            ran = "The script ran. The report claims nothing that can be checked there."
            return ran if _has_run(run) else "We could not test it: something that it needs is missing here."
        case Verdict.OBSERVED:
            return "The script ran. The report claims nothing that can be checked."
        case Verdict.NO_RESULT:
            return "No result. Something failed on our side; this says nothing about the report."
        case _:
            return "Nothing is decided yet." if run.state in OPEN_STATES else "Nothing was decided."


def contrast_words(run: RunDocument) -> tuple[str, str]:
    """The sentence about the contrast of a `reproduced`, and the label of its target; empty without them."""
    if run.contrast is None or run.verdict is not Verdict.REPRODUCED:
        return "", ""
    return CONTRASTS[run.contrast.kind], run.contrast.target or ""


def what_is_missing(run: RunDocument) -> str:
    """The missing thing, if the headline says that something is missing."""
    return run.summary if run.verdict is Verdict.CANNOT_SHOW and not _has_run(run) else ""


def _has_run(run: RunDocument) -> bool:
    """Whether the script ran on a target, though nothing of the claim could be checked."""
    return any(job.verdict is Verdict.OBSERVED for job in run.jobs)


def _count_targets(run: RunDocument) -> int:
    """The number of targets that say something about the claim.

    A target that tests for a cause counts only if the claim was seen there.
    """
    return len(
        {
            label_of(job)
            for job in run.jobs
            if not CAUSE_TESTS.intersection(job.target.settings) or label_of(job) in run.where
        }
    )


def _share(some: int, of: int, when: str) -> str:
    if some == 0:
        return "a pair of targets"
    if some == of:
        return (
            f"the one target that was tried{when}" if of == 1 else f"all {of} targets that were tried{when}"
        )
    return f"{some} of {of} targets{f' that were tried{when}' if when else ''}"


def _rate(run: RunDocument) -> str:
    flaky = [job for job in run.jobs if job.verdict is Verdict.FLAKY]
    most = max(flaky, key=lambda job: job.of, default=None)
    return "sometimes" if most is None else f"{most.matched} of {most.of} times on {label_of(most)}"


def defect_words(run: RunDocument, *, why: bool = True) -> str:
    """Whether it is a bug, if a test decides that, and `why`. Empty if nothing was seen."""
    if not run.seen and run.defect is not Defect.YES:
        return ""
    cause = sentence(run.cause, run.cause_source) if why else ""
    if run.defect is Defect.YES:
        return f"It is a bug. {cause}".strip()
    if run.defect is Defect.NO:
        return f"It is not a bug. {cause}".strip()
    missing = f"Missing for that: {' '.join(run.missing)}" if run.missing else ""
    return " ".join(filter(None, (NOT_DECIDED, cause, missing)))


def cause_test_words(run: RunDocument) -> str:
    """The target whose setting showed the cause. Empty if no cell of its own did."""
    return f"The target that shows this cause: {run.cause_test}" if run.cause_test else ""


def as_reported(run: RunDocument, differing: Sequence[str]) -> str:
    """Whether it was tried in the environment of the report.

    `differing` has the fields of that environment that no machine of the run shares.
    """
    if run.scope is Scope.AS_REPORTED:
        return "yes"
    fields = run.scope_differs or list(differing)
    # If the report does not name its version or its system, nobody knows whether ours is another one.
    unnamed = [name for name in fields if name in _NAMED_BY_REPORTS and name not in run.report.environment]
    names, unknown = (
        ", ".join(some[:4]) for some in ([name for name in fields if name not in unnamed], unnamed)
    )
    if names:
        return f"no, different: {names}"
    if not run.report.environment:
        return "the report names no environment"
    return (
        f"not known: the report does not name {unknown}"
        if unknown
        else "no"
        if run.scope is Scope.ELSEWHERE
        else "yes"
    )


_NAMED_BY_REPORTS = {"torch.version", "os.name"}
