"""Asks all oracles whether the claimed bug of one attempt is gone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Claim, Role, Trait
from app.intake.code.own_checks import went_the_other_way
from app.intake.reading import Script
from app.judging.check.by_kind import judge_kind
from app.judging.check.output_checks import numbers_in_place
from app.judging.check.printed_part import part_of
from app.judging.gone import oracles
from app.judging.gone.bounds import keeps_bounds
from app.judging.gone.changed_values import (
    is_like_its_twin,
    is_made_of_right_values,
    pairs_of_lines,
    shows_value_called_right,
)
from app.judging.gone.dtypes import in_any_unit
from app.judging.gone.labelled_twins import labelled_twins_agree, nan_became_twin, ways_agree
from app.judging.gone.lines_at_issue import judge_lines_at_issue
from app.judging.gone.mended_outputs import is_mended, nan_is_gone
from app.judging.gone.random_values import nan_became_ordinary, without_printed_inputs
from app.judging.gone.repeated_numbers import are_distinct_now
from app.judging.gone.rounded_zeros import equals_but_for_zeros
from app.judging.gone.traits import has_trait_now
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import same_tokens, tokens_of
from app.judging.output.printed_numbers import numbers_in
from worker.contract import Outcome, Result

_MOST_LINES = 200
# Such an attempt says nothing alone. Beside attempts that showed the claim, it counts as one that did not.
_NOT_COMPILED = re.compile(
    r"fall(?:ing|s)?[ _-]?back|suppress|WON'T CONVERT|skipping|not compiled", re.IGNORECASE
)
_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}
_SHOWN_INSTEAD = {*_PRINTED, CheckKind.EXCEPTION}


def oracle_of_output(
    check: Check,
    expected: Sequence[tuple[Check, Result]],
    script: Script,
    claim: Claim,
    *,
    whole: Result,
    check_result: CheckResult,
) -> str | None:
    """The oracle that says that the bug is gone; None if none speaks.

    Each expected check comes with the output in which it is looked for. `whole` has echoes, too.
    """
    others = [other for other, _ in expected]
    # An error that came instead of the claimed one may quote the expected value.
    fails_otherwise = (
        check.kind is CheckKind.EXCEPTION
        and whole.outcome is Outcome.RAISED
        and all(other.kind in _PRINTED for other in others)
    )
    if not fails_otherwise and (
        shows_expected(check, expected) or judge_lines_at_issue(check, others, whole) is CheckResult.ABSENT
    ):
        return oracles.EXPECTED_VALUE
    is_unread = check.kind is CheckKind.DIFFERS and check_result is CheckResult.UNREACHED
    if (is_unread and _passed_own_check(script, whole)) or _took_other_way(check, script, whole):
        return oracles.OWN_CHECK
    right = [*claim.right_values, *(line for other in others for line in other.lines)]
    if script.unseeded and (of_draws := _oracle_of_draws(check, right, whole.observation.stdout, script)):
        return of_draws
    if whole.outcome is Outcome.COMPLETED and is_mended(check, whole.observation.stdout):
        return oracles.MENDED_OUTPUT
    return oracles.gone(check, whole.observation.stdout, right)


def oracle_of_changes(check: Check, result: Result, expected: Sequence[Check], claim: Claim) -> str | None:
    """The oracle that says by the changed values that the bug is gone; None if none speaks.

    A right value with a place of its own decides alone: it is not there.
    """
    part = part_of(check, result)
    stdout = part.observation.stdout
    if _has_trait_now(check, part, expected, claim):
        return oracles.HAS_TRAIT
    if lacks_expected_output(expected):
        return None
    if shows_value_called_right(check, claim.right_values, stdout) or is_made_of_right_values(
        check, claim.right_values, stdout
    ):
        return oracles.CALLED_RIGHT
    if (
        labelled_twins_agree(check, stdout)
        or nan_became_twin(check, claim.right_values, stdout)
        or ways_agree(check, claim.right_values, stdout)
    ):
        return oracles.TWIN_VALUE
    in_place = numbers_in_place(check, part) if check.kind is CheckKind.VALUE else ()
    if keeps_bounds(check, claim.right_bounds, stdout, in_place):
        return oracles.KEEPS_BOUNDS
    return (
        oracles.TWIN_VALUE
        if is_like_its_twin(check, claim.right_values, stdout, should_agree=Trait.AGREE in claim.right_traits)
        else None
    )


def _has_trait_now(check: Check, part: Result, expected: Sequence[Check], claim: Claim) -> bool:
    right = [
        number for other in expected for number in numbers_in(" ".join((*other.lines, other.number or "")))
    ]
    if lacks_expected_output(expected) and not right:
        return False
    in_place = numbers_in_place(check, part) if check.kind is CheckKind.VALUE else ()
    traits = claim.right_traits
    return has_trait_now(check, traits, right, part.observation.stdout, in_place) is not None


def lacks_expected_output(expected: Sequence[Check]) -> bool:
    """Whether an output is expected. Asked only where it is not shown."""
    return any(check.role is Role.EXPECTED and check.kind in _PRINTED for check in expected)


def lacks_what_is_expected(bug: Check, expected: Sequence[Check]) -> bool:
    """Whether an output is expected, or another error than the claimed one. Asked where none is shown."""
    kinds = {check.kind for check in expected if check.role is Role.EXPECTED}
    is_other_error = bug.kind is CheckKind.EXCEPTION and CheckKind.EXCEPTION in kinds
    return is_other_error or lacks_expected_output(expected)


def shows_expected(bug: Check, expected: Sequence[tuple[Check, Result]]) -> bool:
    """Whether all of the expected behaviour is shown. False if nothing is expected."""
    checks = [
        in_any_unit(bug, check, result) or (check, result)
        for check, result in expected
        if check.role is Role.EXPECTED and check.kind in _SHOWN_INSTEAD
    ]
    if len(checks) == 1:
        right, stdout = checks[0][0], checks[0][1].observation.stdout
        if oracles.shows_replaced_line(bug, right, stdout) or equals_but_for_zeros(bug, right, stdout):
            return True
    return bool(checks) and all(
        judge_kind(check, result) is CheckResult.MET
        and (
            check.kind not in _PRINTED
            or oracles.stands_alone(check, result.observation.stdout.splitlines()[:_MOST_LINES])
        )
        and _is_in_order(bug, check, result.observation.stdout)
        for check, result in checks
    )


def _is_in_order(bug: Check, expected: Check, stdout: str) -> bool:
    """Whether an output that is right as a whole, with some lines of the bug, is there line by line."""
    same = [one == other for one, other in zip(bug.lines, expected.lines, strict=False)]
    if len(bug.lines) != len(expected.lines) or not any(same) or len(set(expected.lines)) < 2:
        return True
    pairs = pairs_of_lines([tokens_of(line) for line in expected.lines], stdout)
    return all(same_tokens(one, seen) for one, seen in pairs)


def _oracle_of_draws(check: Check, right: Sequence[str], stdout: str, script: Script) -> str | None:
    """The oracle that speaks of numbers that were drawn at random; None if none speaks."""
    if are_distinct_now(check, stdout):
        return oracles.NUMBERS_DIFFER
    check, stdout = without_printed_inputs(check, stdout, script.script)
    if nan_is_gone(check, stdout):
        return oracles.REFERENCE_VALUE
    is_gone = not oracles.calls_nan_right(right) and nan_became_ordinary(check, stdout)
    return oracles.ORDINARY_NUMBERS if is_gone else None


def _took_other_way(check: Check, script: Script, result: Result) -> bool:
    """Whether the condition of the script that made the claimed output was seen not to hold."""
    is_output = check.role is Role.BUG and check.kind is CheckKind.OUTPUT
    seen = result.observation
    return (
        is_output
        and result.outcome is Outcome.COMPLETED
        and _NOT_COMPILED.search(seen.stderr) is None
        and went_the_other_way(script.script, check.lines, seen.stdout)
    )


def _passed_own_check(script: Script, result: Result) -> bool:
    """Whether the script's own assertion that both sides are equal ran and held."""
    ended = script.asserts_equality and result.outcome is Outcome.COMPLETED
    # Code that was not compiled after all says nothing about compiled code.
    return ended and _NOT_COMPILED.search(result.observation.stderr) is None
