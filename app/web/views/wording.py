"""The sentences at the head of a page, in simple English. They never contain text of a report or a script."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.text.corrected_environment import field_words
from app.judging.judgement import SIGHTINGS, Scope, Verdict
from app.judging.report.owner import Owner
from app.runs.run_object.document import RunDocument
from app.web.text.labels import SCOPES

UNKNOWN_PLACE = (
    "The report does not say exactly in which environment it happened, so it may still be right there."
)


_NEXT: dict[Verdict, str] = {
    Verdict.NEEDS_INFO: "the reporter adds what is missing and submits it again,"
    " as a new report with its own address.",
    Verdict.REPRODUCED: "a maintainer decides whether this is a bug.",
    Verdict.FLAKY: "a maintainer decides whether this is a bug.",
    Verdict.DIFFERENT: "a maintainer looks at what happened instead, and decides.",
    Verdict.NOT_REPRODUCED: "if it still happens to you, submit it again with your versions and your"
    " machine. Else a maintainer may close the report.",
    Verdict.CANNOT_SHOW: "a maintainer may run it on another machine.",
    Verdict.OBSERVED: "the reporter or a maintainer says what is wrong in this result; nothing runs again"
    " for that.",
    Verdict.NO_RESULT: "anyone may run it again: nothing was measured.",
}


def next_words(run: RunDocument, owner: Owner, *, is_decided: bool = False) -> str:
    """The sentence for the reporter about who decides next. `owner` is that of the answer.

    `is_decided`: a maintainer closed the report or confirmed the bug.
    """
    if run.verdict is None or run.contributed or run.withdrawn_at or is_decided or run.preset == "bisection":
        return ""
    words = _NEXT[run.verdict]
    if run.verdict in SIGHTINGS and owner is Owner.DEFECT:
        words = "a maintainer confirms the bug and decides what to do."
    elif run.verdict in SIGHTINGS and owner is not Owner.OPEN:
        words = "a maintainer decides whether this explanation settles the report."
    return f"Next: {words}"


def shows_next(run: RunDocument) -> bool:
    """Whether the next word appears at the address of this report. A completed report is a new one."""
    return run.verdict is not Verdict.NEEDS_INFO


def what_is_missing(run: RunDocument) -> str:
    """The missing thing, if the answer says that something is missing, and not yet which."""
    if run.verdict is not Verdict.CANNOT_SHOW or _has_run(run):
        return ""
    reasons = {job.reason.detail for job in run.jobs if job.reason is not None}
    is_told = len(reasons) == 1 and run.answer.what.endswith(next(iter(reasons)))
    return "" if is_told else run.summary


def _has_run(run: RunDocument) -> bool:
    """Whether the script ran on a target, though nothing of the claim could be checked."""
    return any(job.verdict is Verdict.OBSERVED for job in run.jobs)


def signer_words(run: RunDocument) -> str:
    """Whether somebody vouches for a contributed run. Its name is on the page, escaped."""
    signer = None if run.contributed is None else run.contributed.signed_by
    if signer is None:
        return "Its bundle is not signed: nobody vouches for it."
    return f"Its bundle is signed by the registered key {signer.key[:16]}."


def cause_test_words(run: RunDocument) -> str:
    """The target whose setting showed the cause. Empty if no cell of its own did."""
    return f"The target that shows this cause: {run.cause_test}" if run.cause_test else ""


def as_reported(run: RunDocument, differing: Sequence[str]) -> str:
    """Whether it was tried in the environment of the report.

    `differing` has the fields of that environment that no machine of the run shares.
    """
    if run.scope is Scope.AS_REPORTED:
        return "tried"
    fields = run.scope_differs or list(differing)
    # If the report does not name its version or its system, nobody knows whether ours is another one.
    unnamed = [name for name in fields if _is_unnamed(run, name)]
    # A report about numpy need not name torch.
    if run.environments and not any("torch.version" in one for one in run.environments.values()):
        unnamed = [name for name in unnamed if name != "torch.version"]
        fields = [name for name in fields if name != "torch.version"]
    names, unknown = (
        ", ".join("GPU" if name == "device" else field_words(name) for name in some[:4])
        for some in ([name for name in fields if name not in unnamed], unnamed)
    )
    if names:
        return f"not tried; different here: {names}"
    if not run.report.environment:
        return "the report names no environment"
    return (
        f"not known: the report does not name {unknown}"
        if unknown
        else "not tried"
        if run.scope is Scope.ELSEWHERE
        else "tried"
    )


def scope_words(run: RunDocument) -> str:
    """The scope of a "no" in a sentence. It must not contradict `as_reported`."""
    if run.scope is not Scope.ELSEWHERE:
        return "" if run.scope is None else SCOPES[run.scope]
    named = [name for name in run.scope_differs if not _is_unnamed(run, name)]
    return SCOPES[run.scope] if named else UNKNOWN_PLACE


def scope_fields(run: RunDocument) -> str:
    """The fields of the reporter's environment that are another one here, and those that nobody knows."""
    unnamed = [name for name in run.scope_differs if _is_unnamed(run, name)]
    others = [name for name in run.scope_differs if name not in unnamed]
    return " ".join(
        f"{words}: {', '.join('GPU' if name == 'device' else field_words(name) for name in names)}."
        for words, names in (
            ("Different on the reporter's machine", others),
            ("The report does not name", unnamed),
        )
        if names
    )


def _is_unnamed(run: RunDocument, name: str) -> bool:
    """Whether a report could name this version or system, and does not."""
    could = name in {"torch.version", "os.name"} or name.startswith("package.")
    return could and name not in run.report.environment


# Their names in templates.
SCOPE_FILTERS = {"shows_next": shows_next, "scope_words": scope_words, "scope_fields": scope_fields}
