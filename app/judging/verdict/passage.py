"""The passage check: that a failure is gone needs that its statement was seen to be passed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.errors import InputError
from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.code.points import points_on
from app.intake.code.printed_after import shows_passage
from app.intake.code.syntax import parse
from app.intake.reading import Script, ScriptRole
from app.judging.check.places import exclusion_of
from app.judging.check.reach import (
    NOT_COMPILED,
    POINT_NOT_SEEN,
    POINT_PASSED,
    POINT_UNKNOWN,
    TOO_MANY_READINGS,
)
from app.judging.judgement import SIGHTINGS, DifferentKind, JobJudgement, Verdict
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, PassagePoint, Reason, Result
from worker.contract.passage import MOST_POINTS

# Printed values show themselves whether they were reached. A failure that is missing does not.
_KINDS = {
    CheckKind.EXCEPTION,
    CheckKind.CRASH,
    CheckKind.EXIT_STATUS,
    CheckKind.HANG,
    CheckKind.OUT_OF_MEMORY,
}
# A tracer would be in the way of these, or they of it.
_OWN_TRACER = re.compile(r"\b(?:settrace|setprofile|sys\.monitoring|getrecursionlimit|setrecursionlimit)\b")
# Nothing can be observed inside the code that torch's compiler makes. That it made some is counted.
_COMPILES = re.compile(r"\btorch\.compile\b|\btorch import [^\n]{0,200}\bcompile\b|_dynamo\.optimize\b")
# So often a cell's passage check is made at most.
MOST_CHECKS = 2
# Ends that a loaded or failing machine may cause, whatever the script does.
_ENDED_BY_MACHINE = {Outcome.LOST, Outcome.SETUP_FAILED, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY}
_RAISED = Reason(
    code=DifferentKind.OTHER_FAILURE,
    detail="In the passage check an exception went through the claimed statement, and the script went on.",
)


def points_to_pass(
    claim: Claim, script: Script, target: Target, counted: Sequence[Result] = ()
) -> tuple[PassagePoint, ...]:
    """The statements that must be seen to be passed before the claimed failure is said to be gone.

    Empty if no anchor is known, or if the outputs of the counted attempts show the passage already.
    """
    if script.role is not ScriptRole.MAIN:
        return ()
    if counted and all(result.outcome is Outcome.RAISED for result in counted):
        # If there is a "no", these errors are what the report calls right: how they end is seen.
        return ()
    lines = [
        line
        for check in claim.having(Role.BUG)
        if check.kind in _KINDS and check.at is not None and exclusion_of(check, target) is None
        for line in (*check.through, check.at)
    ]
    if not lines:
        return ()
    try:
        tree = parse(script.script)
    except InputError:
        return ()
    points = [point for line in dict.fromkeys(lines) for point in points_on(tree, line)]
    completed = all(result.outcome is Outcome.COMPLETED for result in counted)
    printed = [result.observation.stdout for result in counted]
    if completed and not _compiles(script) and shows_passage(tree, points, printed):
        return ()
    return tuple(points[-MOST_POINTS:])


def _compiles(script: Script) -> bool:
    return _COMPILES.search(script.script) is not None


def is_observable(claim: Claim, script: Script) -> bool:
    """Whether an observer changes nothing that the claim is about."""
    types = {check.exception_type for check in claim.having(Role.BUG)}
    return "RecursionError" not in types and _OWN_TRACER.search(script.script) is None


def passages_in(results: Sequence[Result]) -> list[Result]:
    """The attempts that observed the passage, the latest last."""
    passages = [result for result in results if result.kind is AttemptKind.PASSAGE]
    return sorted(passages, key=lambda result: result.attempt_id)


def needs_another_check(passages: Sequence[Result], counted: Sequence[Result]) -> bool:
    """Whether a passage check has to be made: there was none, or the machine may have ended the only one."""
    if not passages:
        return True
    outcome = passages[-1].outcome
    is_fault = outcome in _ENDED_BY_MACHINE and outcome not in {result.outcome for result in counted}
    return is_fault and len(passages) < MOST_CHECKS


def lost_passage(attempt_id: str) -> Result:
    """The result of a passage check that was lost: it was asked for, and nothing was seen."""
    return Result(
        # No node answered, but a result needs a valid name.
        node="none",
        instance="",
        attempt_id=attempt_id,
        lease_no=0,
        kind=AttemptKind.PASSAGE,
        outcome=Outcome.LOST,
    )


def with_passage(
    judgement: JobJudgement,
    script: Script,
    points: Sequence[PassagePoint],
    counted: Sequence[Result],
    passage: Result,
) -> JobJudgement:
    """A "no" after its passage check, which shows neither the bug nor another one."""
    lines = {point.span[0] for point in points}
    # The check may have observed the points of other claims of the report, too.
    seen = [point for point in passage.observation.passage or () if point.line in lines]
    # A corrected claim may be about other lines than those that were observed.
    is_about_them = [point.line for point in seen] == [point.span[0] for point in points]
    if passage.outcome not in {result.outcome for result in counted} or not is_about_them:
        return not_seen(judgement)
    if any(point.state == "raised" for point in seen):
        return judgement.model_copy(update={"verdict": Verdict.DIFFERENT, "reason": _RAISED})
    if _compiles(script) and passage.observation.compiled_frames == 0:
        return not_seen(judgement, NOT_COMPILED)
    if all(point.state == "passed" for point in seen):
        return judgement.model_copy(update={"reason": POINT_PASSED})
    return not_seen(judgement)


def not_seen(judgement: JobJudgement, reason: Reason = POINT_NOT_SEEN) -> JobJudgement:
    """The judgement of a job whose point was not seen to be passed: no "no"."""
    return JobJudgement(
        verdict=Verdict.CANNOT_SHOW, reason=reason, of=judgement.of, findings=judgement.findings
    )


def without_loose(judgement: JobJudgement, claim: Claim) -> JobJudgement:
    """The judgement, unless it rests on a failure that is missing and that nothing ties to the script.

    That it does not come shows nothing. Nor is there a "no" if the report has more readings than are judged.
    """
    loose = {check.kind for check in claim.having(Role.BUG) if check.loose}
    is_no = judgement.verdict is Verdict.NOT_REPRODUCED
    is_absence = judgement.verdict in SIGHTINGS and CheckKind.NO_ERROR in loose
    settled = any(finding.oracle for finding in judgement.findings)
    if (is_absence or (is_no and loose)) and not settled:
        return not_seen(judgement, POINT_UNKNOWN)
    return not_seen(judgement, TOO_MANY_READINGS) if is_no and claim.has_more else judgement
