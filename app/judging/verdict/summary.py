"""The summary of a run: fixed sentences with labels and counts, without any text of a report or script."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.cause.cause import sentence
from app.judging.check.reach import TWO_READINGS
from app.judging.gone import oracles
from app.judging.judgement import DEVIATIONS, Defect, JudgedCell, Scope, Verdict
from app.judging.verdict.run import RunJudgement, without_tests

MOST_LABELS = 4
_UNKNOWN_PLACE = "The report does not say exactly in which environment it happened"
_ORACLES = {
    oracles.EXPECTED_VALUE: "The value that the report calls right is there.",
    oracles.ANSWER_FLIPPED: "The script answers the opposite of what the report shows.",
    oracles.NO_DIFFERENCES: "The script finds no differences any more.",
    oracles.REFERENCE_VALUE: "Values that were nan or inf are now the reference values of the report.",
    oracles.NUMBERS_DIFFER: "The random numbers that were equal in the report differ now.",
    oracles.MENDED_OUTPUT: "The memory is flat, the reference is dead, or the sides agree now.",
    oracles.CALLED_RIGHT: "The changed value is one that the report calls right.",
    oracles.TWIN_VALUE: "The two lines that differed in the report are equal now.",
    oracles.VALUE_OF_GPU: "The CPU gives what the report shows for the GPU, whose own part did not run.",
    oracles.RIGHT_ERROR: "The script raises an error there, which the report calls right.",
    oracles.KEEPS_BOUNDS: "The changed value lies where the report says that it has to.",
    oracles.HAS_TRAIT: "The value in the place of the claimed one is like the report says it has to be.",
    oracles.CLEAN_REFUSAL: "The claimed statement refuses its input with an ordinary error now.",
    oracles.ORDINARY_NUMBERS: "Ordinary numbers stand now where nan or inf stood.",
    oracles.OWN_CHECK: "The script's own check passes.",
}


def summarise(judgement: RunJudgement, cells: Sequence[JudgedCell]) -> str:
    """The summary: the verdict, the cause if it is known, and the cells without a result."""
    parts = [_verdict(judgement, without_tests(cells))]
    cause = sentence(judgement.cause, judgement.finding.source)
    # A defect that its own test has shown is named also when the claim was not reproduced.
    if cause and (judgement.defect is Defect.YES or judgement.verdict in DEVIATIONS):
        parts.append(cause)
    if judgement.defect is Defect.NO:
        parts.append("This is no defect.")
    if judgement.without_result:
        parts.append(f"{_count(judgement.without_result, 'cell')} of {len(cells)} gave no result.")
    return " ".join(part for part in parts if part)


def _verdict(judgement: RunJudgement, cells: Sequence[JudgedCell]) -> str:  # noqa: PLR0911 - one sentence a verdict
    match judgement.verdict:
        case Verdict.NEEDS_INFO:
            return "Nothing was run: the report lacks something that only the reporter can supply."
        case Verdict.REPRODUCED:
            return f"It happens, as claimed, on {_share(judgement.where, cells)}.{_elsewhere(judgement)}"
        case Verdict.FLAKY:
            return f"It happens sometimes: {_rates(cells)}."
        case Verdict.DIFFERENT:
            return (
                f"The claim was not seen, but something else happens on {_share(judgement.not_where, cells)}."
            )
        case Verdict.NOT_REPRODUCED:
            return _not_reproduced(judgement, cells)
        case Verdict.CANNOT_SHOW:
            return f"It could not be tested here: {_lacks(cells)}"
        case Verdict.OBSERVED:
            return _observation(cells)
        case Verdict.NO_RESULT:
            return "There is no result: no attempt gave usable evidence."
        case None:
            return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _labels(labels: Sequence[str]) -> str:
    named = ", ".join(labels[:MOST_LABELS])
    more = len(labels) - MOST_LABELS
    return named + (f" and {more} more" if more > 0 else "")


def _share(labels: Sequence[str], cells: Sequence[JudgedCell]) -> str:
    if not labels:
        return "a pair of targets"
    targets = len({cell.target.label() for cell in cells})
    if targets == 1:
        return labels[0]
    return f"{len(labels)} of {_count(targets, 'target')} ({_labels(labels)})"


def _elsewhere(judgement: RunJudgement) -> str:
    free = [label for label in judgement.not_where if label not in judgement.chance_where]
    by_chance = judgement.chance_where
    words = f" Not on {_labels(free)}." if free else ""
    return words + (f" Not seen on {_labels(by_chance)}, which may be chance." if by_chance else "")


def _rates(cells: Sequence[JudgedCell]) -> str:
    flaky = [cell for cell in cells if cell.verdict is Verdict.FLAKY and cell.judgement is not None]
    rates = [
        f"{cell.judgement.matched} of {cell.judgement.of} times on {cell.target.label()}"
        for cell in flaky
        if cell.judgement
    ]
    return _labels(rates)


def _not_reproduced(judgement: RunJudgement, cells: Sequence[JudgedCell]) -> str:
    bounds = [
        cell.judgement.rate_upper_bound
        for cell in cells
        if cell.judgement and cell.judgement.rate_upper_bound is not None
    ]
    runs = sum(
        cell.judgement.of for cell in cells if cell.judgement and cell.verdict is Verdict.NOT_REPRODUCED
    )
    words = f"It does not happen on {_share(judgement.not_where, cells)}, in {_count(runs, 'attempt')}."
    if bounds:
        words += (
            f" A failure that happens in fewer than {max(bounds):.0%} of attempts could have been missed."
        )
    words += _oracles(cells)
    if judgement.scope is Scope.ELSEWHERE:
        # If the report does not name its version or its system, nobody knows whether ours is another one.
        differs = "The reporter's environment was different" if judgement.scope_named else _UNKNOWN_PLACE
        words += f" {differs}, so this does not prove the report wrong."
    return words


def _observation(cells: Sequence[JudgedCell]) -> str:
    codes = {cell.judgement.reason.code for cell in cells if cell.judgement and cell.judgement.reason}
    if TWO_READINGS.code in codes:
        return (
            "The report can be read in two ways, and the script shows only one of them. "
            "Say which one is meant."
        )
    return (
        "The script ran. The report makes no claim that can be checked, "
        "so its output is shown without a verdict."
    )


def _oracles(cells: Sequence[JudgedCell]) -> str:
    """How it is known that the bug is gone, in one sentence for each oracle."""
    names = {
        finding.oracle
        for cell in cells
        if cell.judgement and cell.verdict is Verdict.NOT_REPRODUCED
        for finding in cell.judgement.findings
    }
    return "".join(f" {text}" for name, text in _ORACLES.items() if name in names)


def _lacks(cells: Sequence[JudgedCell]) -> str:
    without = [
        cell.judgement.reason for cell in cells if cell.judgement and cell.verdict is Verdict.CANNOT_SHOW
    ]
    details = [reason.detail for reason in without if reason is not None]
    return (
        " ".join(dict.fromkeys(detail for detail in details if detail))
        or "The script did not reach the point of the claim."
    )
