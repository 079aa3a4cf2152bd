"""Writes the verdict of a run in four sentences: what happens, where, how sure it is, and whose it is.

Pages, Markdown, REST and the command line have the same sentences. Text of a report is in none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from app.judging.cause.cause import sentence
from app.judging.cause.defect import OF_THE_SCRIPT
from app.judging.judgement import DEVIATIONS, SIGHTINGS, Defect, Scope, Verdict
from app.judging.report.change import ChangeKind
from app.judging.report.owner import Owner
from app.judging.verdict.rates import Homogeneity
from app.runs.run_object.answer.flips import Flip, flip_in
from app.runs.run_object.answer.new_warnings import new_warning_words
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.answer.places import (
    contrast_words,
    display_name,
    packages_to_name,
    place_words,
    places_of,
)
from app.runs.run_object.answer.rates import (
    absence_words,
    both_sides_words,
    chance_of,
    chance_words,
    sighting_words,
)
from app.runs.run_object.answer.silent_parts import (
    NEITHER,
    NOTHING_VARIES,
    gpu_words,
    lacks_the_expected,
    varies_elsewhere,
)
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.removal_part import removal_words
from app.states import OPEN_STATES
from worker.contract import Reason

_OF_ROUNDING = frozenset(
    {"rounding", "reduced_precision", "ill_conditioned", "sign_or_order", "rounding_before_a_decision"}
)
_WHAT: Mapping[Verdict, str] = {
    Verdict.NEEDS_INFO: "The report lacks something, so nothing was run.",
    Verdict.REPRODUCED: "It happens, as reported.",
    Verdict.FLAKY: "It happens, as reported, but not every time.",
    Verdict.DIFFERENT: "Something else happens than what is reported.",
    Verdict.NOT_REPRODUCED: "It does not happen here.",
    Verdict.CANNOT_SHOW: "We could not test it.",
    Verdict.OBSERVED: "The script ran. The report claims nothing that can be checked.",
    Verdict.NO_RESULT: "No result. Something failed on our side; this says nothing about the report.",
}
_UNSEEN: Mapping[Verdict, str] = {
    Verdict.NEEDS_INFO: "The reporter's turn: the report lacks something.",
    Verdict.DIFFERENT: "Not known: what is reported was not seen.",
    Verdict.NOT_REPRODUCED: "Nobody's: nothing wrong was seen.",
    Verdict.CANNOT_SHOW: "Not known: it could not be tested here.",
    Verdict.OBSERVED: "Not known: the report claims nothing that can be checked.",
    Verdict.NO_RESULT: "Not known: there is no result.",
}
_FLIP = {ChangeKind.REGRESSED: "Regressed", ChangeKind.FIXED: "Fixed"}
_UNSURE_FLIP = {ChangeKind.REGRESSED: "May have regressed", ChangeKind.FIXED: "May be fixed"}
_EXPLAINED: Mapping[Owner, str] = {
    Owner.ROUNDING: "Rounding",
    Owner.SCRIPT: "The script's own",
    Owner.DOCUMENTED: "As documented",
}
_SEEN_INSTEAD: Mapping[Verdict, str] = {
    Verdict.DIFFERENT: "The claim was not seen. The difference that was seen is",
    Verdict.CANNOT_SHOW: "The report claims nothing that can be checked. The difference that was seen is",
    Verdict.OBSERVED: "The report claims nothing that can be checked. The difference that was seen is",
}
NOT_DECIDED_YET, NOT_DECIDED = "Nothing is decided yet.", "Nothing was decided."
NOTHING_RAN_YET, NOTHING_RAN = "No attempt has ended yet.", "Nothing was run."


def answer_of(run: RunDocument, flip: Flip | None = None) -> AnswerPart:
    """The answer of a run. A `flip` that other runs of the report show goes before that of the run."""
    flip = flip or flip_in(run)
    verdict = _verdict(run)
    if verdict not in SIGHTINGS and not (flip is not None and flip.kind is ChangeKind.FIXED):
        flip = None
    owner, whose = _whose(run, flip)
    return AnswerPart(
        what=_what(run, verdict, flip),
        where=_where(run, verdict, flip),
        how_sure=_how_sure(run, verdict, flip),
        whose=whose,
        owner=owner,
        baseline=None if flip is None else _first_attempt(flip.before),
        candidate=None if flip is None else _first_attempt(flip.after),
    )


def _first_attempt(job: JobPart | None) -> str | None:
    attempts = [] if job is None else [one.id for one in job.attempts if one.counted and one.outcome]
    return next(iter(attempts), None)


def _verdict(run: RunDocument) -> Verdict | None:
    """The verdict. While the run goes on, only one that more attempts can't undo."""
    return run.verdict or (run.so_far if run.so_far in DEVIATIONS else None)


def _what(run: RunDocument, verdict: Verdict | None, flip: Flip | None) -> str:
    if flip is not None:
        package = display_name(flip.package)
        words = _UNSURE_FLIP if _may_be_chance(flip) else _FLIP
        begin = f"{words[flip.kind]} in {package} {_release(flip.newer)}"
        if flip.kind is ChangeKind.REGRESSED:
            return f"{begin}, fine in {_release(flip.older)}."
        return f"{begin}; it happens in {_release(flip.older)}."
    if verdict is None:
        return NOT_DECIDED_YET if run.state in OPEN_STATES else NOT_DECIDED
    if verdict is Verdict.NOT_REPRODUCED and run.scope is Scope.AS_REPORTED:
        return "It does not happen, not even in the reported environment."
    if verdict is Verdict.CANNOT_SHOW and any(job.verdict is Verdict.OBSERVED for job in run.jobs):
        return _WHAT[Verdict.OBSERVED]
    return " ".join(
        filter(None, (_seen_words(run, verdict), _obstacle_words(run, verdict), gpu_words(run, verdict)))
    )


def _seen_words(run: RunDocument, verdict: Verdict) -> str:
    """The verdict in a sentence that claims no more than was compared."""
    if verdict is Verdict.REPRODUCED and varies_elsewhere(run):
        return NOTHING_VARIES
    return NEITHER if verdict is Verdict.DIFFERENT and lacks_the_expected(run) else _WHAT[verdict]


def _chance(flip: Flip) -> Homogeneity | None:
    """The test of the two sides of a flip; None if a side is not known or not measured independently."""
    return None if flip.before is None or flip.after is None else chance_of(flip.before, flip.after)


def _may_be_chance(flip: Flip) -> bool:
    """Whether the counts leave it open that nothing changed: then the words must not be flat."""
    chance = _chance(flip)
    return chance is not None and chance.may_be_equal


def obstacle_of(run: RunDocument) -> Reason | None:
    """The commonest reason why the claim could not be shown; None without one."""
    reasons = [job.reason for job in run.jobs if job.verdict is Verdict.CANNOT_SHOW and job.reason]
    counts = Counter(reason.code for reason in reasons)
    return min(reasons, key=lambda reason: (-counts[reason.code], reason.code, reason.detail), default=None)


def _obstacle_words(run: RunDocument, verdict: Verdict) -> str:
    """The obstacle in a sentence. A machine elsewhere gives its reasons in words that are not ours."""
    obstacle = obstacle_of(run) if verdict is Verdict.CANNOT_SHOW else None
    return "" if obstacle is None or run.contributed is not None else obstacle.detail


def _release(version: str) -> str:
    """A version without its build: 2.11.0+cu130 is 2.11.0."""
    return version.partition("+")[0]


def _where(run: RunDocument, verdict: Verdict | None, flip: Flip | None) -> str:
    there, elsewhere = _sides(run)
    evidence = [*there, *elsewhere] or [job for job in run.jobs if _has_ended(job)]
    if not evidence:
        return NOTHING_RAN_YET if run.state in OPEN_STATES else NOTHING_RAN
    packages = packages_to_name(run, evidence)
    places = places_of(run, there or evidence, packages=packages)
    older = "" if flip is None else f"with {display_name(flip.package)} {_release(flip.older)}"
    if not there:
        begin = (
            "Seen when results are compared:" if verdict in SIGHTINGS else "Not on" if flip else "Tried on"
        )
        return f"{begin} {place_words(places)}.{f' Seen {older}.' if flip else ''}"
    by_chance = [job for job in elsewhere if job.target.label in run.chance_where]
    free, doubtful = (
        [place for place in places_of(run, jobs, packages=packages) if place not in places]
        for jobs in ([job for job in elsewhere if job not in by_chance], by_chance)
    )
    contrast = contrast_words(places, free) if free else ""
    by_luck = contrast_words(places, doubtful) if doubtful else ""
    if flip is not None and not contrast and not by_luck:
        contrast, by_luck = ("", older) if _may_be_chance(flip) else (older, "")
    words = f"Seen on {place_words(places)}.{f' Not {contrast}.' if contrast else ''}"
    return words + (f" Not seen {by_luck}, which may be chance." if by_luck else "")


def _has_ended(job: JobPart) -> bool:
    return any(attempt.outcome is not None for attempt in job.attempts)


def _sides(run: RunDocument) -> tuple[list[JobPart], list[JobPart]]:
    """The cells where the claim was seen, and those where it was not.

    A cell of an open run may have shown it before it has a verdict.
    """
    labels = {*run.where}, {*run.not_where}
    if run.state in OPEN_STATES and not labels[0]:
        return [job for job in run.jobs if job.verdict is None and job.matched], []
    there = [job for job in run.jobs if job.target.label in labels[0] and job.verdict in SIGHTINGS]
    elsewhere = [job for job in run.jobs if job.target.label in labels[1]]
    return there, elsewhere


def _how_sure(run: RunDocument, verdict: Verdict | None, flip: Flip | None) -> str:
    there, elsewhere = _sides(run)
    words = ""
    if flip is not None and flip.before is not None and flip.after is not None:
        newer, older = (_release(flip.newer), flip.after), (_release(flip.older), flip.before)
        shows, free = (newer, older) if flip.kind is ChangeKind.REGRESSED else (older, newer)
        chance = _chance(flip)
        if chance is not None:
            # The test says whether the sides differ. A bound of each side beside it would seem to deny that.
            version = f"{display_name(flip.package)} {shows[0]}"
            return f"{both_sides_words((version, shows[1]), free)} {chance_words(chance)}"
        there, elsewhere = [shows[1]], [free[1]]
    if verdict in SIGHTINGS or flip is not None:
        words = sighting_words(there, elsewhere)
    elif verdict is Verdict.NOT_REPRODUCED:
        words = absence_words([job for job in elsewhere if job.verdict is Verdict.NOT_REPRODUCED])
    if words:
        return words
    count = sum(
        attempt.counted and attempt.outcome is not None for job in run.jobs for attempt in job.attempts
    )
    return f"{count} attempt{'' if count == 1 else 's'}."


def _whose(run: RunDocument, flip: Flip | None) -> tuple[Owner, str]:
    """To whom it belongs, and the sentence for it."""
    removal = run.removal or (None if flip is None else flip.removal)
    cause = sentence(run.cause, run.cause_source)
    if run.cause == "unexplained" and run.cause_source:
        owner, words = Owner.SCRIPT, f"The script's own. {cause}"
    elif run.defect is Defect.YES:
        owner, words = Owner.DEFECT, f"A defect. {cause}"
    elif flip is not None and flip.kind is ChangeKind.FIXED:
        still = "it was not seen any more" if _may_be_chance(flip) else "it no longer happens"
        owner, words = Owner.NOBODY, f"Nobody's: {still}."
    elif not run.seen:
        owner, words = _unseen(run, cause)
    elif removal is not None and removal.category:
        owner, words = Owner.ANNOUNCED, f"Announced: {removal_words(removal)}"
    elif (by_test := _owner_by_test(run)) is not None:
        owner = by_test
        words = f"{_EXPLAINED[owner]}{_no_defect(run, owner)}. {cause}"
    else:
        why = new_warning_words(flip) or cause if removal is None else removal_words(removal)
        owner, words = Owner.OPEN, f"Open: it is not decided whether this is a bug. {why}"
    return owner, words.strip()


def _owner_by_test(run: RunDocument) -> Owner | None:
    """The owner of what a test explains without a defect; None if no test does."""
    if run.cause in _OF_ROUNDING:
        return Owner.ROUNDING
    if run.cause in {*OF_THE_SCRIPT, "random_streams", "undefined_conversion"}:
        return Owner.SCRIPT
    return Owner.DOCUMENTED if run.defect is Defect.NO else None


def _no_defect(run: RunDocument, owner: Owner) -> str:
    return ", no defect" if run.defect is Defect.NO and owner is not Owner.SCRIPT else ""


def _unseen(run: RunDocument, cause: str) -> tuple[Owner, str]:
    """The owner of what was seen in place of the claim, if a test explains it."""
    verdict = _verdict(run)
    by_test = _owner_by_test(run) if run.defect is Defect.NO and verdict in _SEEN_INSTEAD else None
    if by_test is not None and verdict is not None:
        begin = _EXPLAINED[by_test][0].lower() + _EXPLAINED[by_test][1:]
        return by_test, f"{_SEEN_INSTEAD[verdict]} {begin}{_no_defect(run, by_test)}. {cause}"
    return Owner.NOBODY, _UNSEEN.get(verdict, "Not known yet.") if verdict is not None else "Not known yet."
