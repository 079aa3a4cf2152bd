"""The result of a check in one attempt, by its output, the target's lacks and the claimed environment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Claim, Role, Trait
from app.intake.reading import Script
from app.intake.words.vocabulary import device_of
from app.judging.check.by_kind import judge_kind
from app.judging.check.clock import with_named_times
from app.judging.check.failure_checks import (
    asserts_the_failure,
    is_another_failure,
    is_broken,
    is_met_by_any_failure,
)
from app.judging.check.guards import skipped_gpu_part
from app.judging.check.oracle_of_check import (
    lacks_what_is_expected,
    oracle_of_changes,
    oracle_of_output,
    shows_expected,
)
from app.judging.check.output_checks import (
    claimed_number,
    equals_claimed,
    is_in_another_order,
    numbers_in_place,
)
from app.judging.check.places import exclusion_of, is_of_absent_device, mismatch_of
from app.judging.check.printed_optima import shows_same_optima
from app.judging.check.printed_part import names_part, part_of
from app.judging.check.random_numbers import is_random, judge_random
from app.judging.check.reach import (
    ABSOLUTE_TIME,
    ENDED_EARLIER,
    MEMORY_LIMIT,
    NO_GPU,
    NO_SIDES,
    NO_TIMES,
    NOTHING_SHOWN,
    OTHER_DEVICE,
    PATH_NOT_TAKEN,
    RANDOM_NUMBERS,
    ended_by_limit,
    lack_of,
)
from app.judging.check.spelling import judge_spelling
from app.judging.gone import oracles
from app.judging.gone.bounds import judge_random_value
from app.judging.gone.cpu_part import judge_cpu_part
from app.judging.gone.dtypes import judge_dtypes_at_issue
from app.judging.gone.lines_at_issue import judge_lines_at_issue
from app.judging.gone.mended_outputs import nan_is_gone
from app.judging.gone.random_values import misses_exact_value
from app.judging.gone.refusals import refuses_now
from app.judging.gone.right_errors import raises_what_is_right
from app.judging.judgement import CheckResult, Finding
from app.judging.output.printed_lines import is_duration, nearest_line
from app.judging.output.printed_numbers import numbers_in, same_value
from app.judging.output.sides import lines_of_sides
from app.targets.target import Target
from worker.contract import Device, Outcome, Reason, Result

MOST_OBSERVED = 400
# Longer output is data. It holds no sentence that names both values.
_MOST_LINES = 200
SILENT = {NOTHING_SHOWN.code, PATH_NOT_TAKEN.code}
_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}
_PRINTED_OR_COMPARED = {*_PRINTED, CheckKind.VARIES, CheckKind.DIFFERS}


def judge_check(
    check: Check,
    result: Result,
    *,
    expected: Sequence[Check],
    script: Script,
    target: Target,
    claim: Claim | None = None,
) -> Finding:
    """Judge a check in one attempt. `expected` are the claim's checks of the correct behaviour.

    `claim` says which values and errors the report calls right somewhere.
    """
    claim = claim or Claim()
    if (exclusion := exclusion_of(check, target)) is not None:
        return _finding(check, CheckResult.UNREACHED, result, reason=exclusion)
    lack = lack_of(result, script, target)
    if lack == NO_GPU and (of_cpu := judge_cpu_part(check, result, expected=expected)) is not None:
        return _finding(check, of_cpu[0], result, oracle=of_cpu[1])
    check_result, oracle = _judge_with_oracles(check, result, expected, script, claim)
    reason = _outweighing_lack(check, result, lack, check_result)
    if (
        reason is None
        and (check_result is not CheckResult.MET or is_met_by_any_failure(check))
        and device_of(check.text) != Device.CPU
    ):
        reason = skipped_gpu_part(result, script, target)
    if reason is None and check_result is not CheckResult.MET:
        reason = ABSOLUTE_TIME if _is_about_time(check) else mismatch_of(check, result, target)
        if reason is None and is_of_absent_device(check, result, script, claim):
            reason = OTHER_DEVICE
    if reason is None and check_result is CheckResult.UNREACHED:
        reason = RANDOM_NUMBERS if oracle == RANDOM_NUMBERS.code else _why_unreached(check, result)
    if reason is not None:
        return _finding(check, CheckResult.UNREACHED, result, reason=reason)
    return _finding(
        check, check_result, result, oracle=oracle if check_result is CheckResult.ABSENT else None
    )


def _judge_with_oracles(
    check: Check, result: Result, expected: Sequence[Check], script: Script, claim: Claim
) -> tuple[CheckResult, str | None]:
    """The result by the output, and by all that the report calls right."""
    check_result, oracle = _judge_output_only(check, result, expected, script, claim)
    if oracle == RANDOM_NUMBERS.code and (by_bounds := judge_random_value(check, claim.right_bounds, result)):
        check_result, oracle = by_bounds, oracles.KEEPS_BOUNDS
    if check_result is CheckResult.OTHER and result.outcome is Outcome.COMPLETED:
        oracle = oracle_of_changes(check, result, expected, claim)
        right = claim.right_values if script.unseeded and oracle is None else ()
        if right and nan_is_gone(check, result.observation.stdout, right):
            oracle = oracles.CALLED_RIGHT
        check_result = CheckResult.ABSENT if oracle else check_result
    is_seen = check_result is CheckResult.MET
    if not is_seen and raises_what_is_right(check, result, claim, script.script):
        return CheckResult.ABSENT, oracles.RIGHT_ERROR
    if not is_seen and refuses_now(check, result, claim, script.script):
        return CheckResult.ABSENT, oracles.CLEAN_REFUSAL
    if check_result is CheckResult.ABSENT and oracle is None and asserts_the_failure(check, result, script):
        check_result = CheckResult.UNREACHED
    return check_result, oracle


def observed_text(check: Check, result: Result) -> str:
    """The output or failure in place of the claim, in the script's own words: hostile text."""
    seen = part_of(check, result).observation
    if check.kind is CheckKind.DIFFERS and check.sides:
        lines = lines_of_sides(seen.stdout, check.sides)
        if any(lines.values()):
            return "\n".join(line for side in lines.values() for line in side)
    if check.kind in _PRINTED_OR_COMPARED and seen.stdout.strip():
        near = nearest_line(check.lines, seen.stdout) if check.lines else None
        return near or seen.stdout.strip()
    if seen.exception is not None:
        return f"{seen.exception.type}: {seen.exception.message}"
    return seen.signal or str(result.outcome)


def _finding(
    check: Check,
    check_result: CheckResult,
    result: Result,
    *,
    reason: Reason | None = None,
    oracle: str | None = None,
) -> Finding:
    observed = observed_text(check, result)[:MOST_OBSERVED]
    return Finding(text=check.text, result=check_result, observed=observed, reason=reason, oracle=oracle)


def _outweighing_lack(
    check: Check, result: Result, lack: Reason | None, check_result: CheckResult
) -> Reason | None:
    """The lack, if it counts more than the result of the check.

    It always does, unless the claim was plainly met.
    """
    if lack is None or check_result is not CheckResult.MET:
        return lack
    limit = ended_by_limit(result)
    match check.kind:
        case CheckKind.EXIT_STATUS | CheckKind.NO_ERROR:
            return lack
        case CheckKind.OUT_OF_MEMORY:
            return limit
        case CheckKind.EXCEPTION if lack.code in {"no_gpu", "too_few_gpus"} or is_met_by_any_failure(check):
            return None if lack == MEMORY_LIMIT and limit is None else lack
        case _:
            return None


def _is_about_time(check: Check) -> bool:
    """Whether the claimed value is a duration."""
    if check.kind is CheckKind.VALUE:
        number_with_unit = rf"(?<![\w.]){re.escape(check.number or '')}\s?[\w/µ]+"
        return any(is_duration(text) for text in re.findall(number_with_unit, check.text))
    return check.kind is CheckKind.OUTPUT and bool(check.lines) and all(map(is_duration, check.lines))


def _why_unreached(check: Check, result: Result) -> Reason:
    if result.outcome is not Outcome.COMPLETED:
        return ENDED_EARLIER
    if check.kind is CheckKind.SLOWER:
        return NO_TIMES
    return NO_SIDES if check.kind is CheckKind.DIFFERS else NOTHING_SHOWN


def _judge_output_only(
    check: Check, result: Result, expected: Sequence[Check], script: Script, claim: Claim
) -> tuple[CheckResult, str | None]:
    """The result by the output and the failure alone, without regard to what the target lacks.

    With it comes the oracle that says that the bug is gone, or the code for nothing but random numbers.
    """
    everything, result = result, part_of(check, result)
    check, result = with_named_times(check, result, script)
    if (of_text := _judge_text_alone(check, expected, claim, result.observation.stdout)) is not None:
        return of_text
    whole, result = result, _without_echo(check, result, expected)
    check_result = _judge_shown(check, result, expected, script, whole=whole)
    if check_result is CheckResult.MET:
        is_met = not (
            _is_met_by_rounding(check, result, expected) or _is_met_on_stderr_only(check, result, expected)
        )
        return (CheckResult.MET if is_met else CheckResult.ABSENT), None
    # An expected value that names a part of the output is looked for there.
    places = [(other, part_of(other, everything) if names_part(other) else result) for other in expected]
    if oracle := oracle_of_output(check, places, script, claim, whole=whole, check_result=check_result):
        return CheckResult.ABSENT, oracle
    if check_result is CheckResult.ABSENT and lacks_what_is_expected(check, expected):
        # The failure is gone, but the value or the error that was said to be right is not there.
        return CheckResult.OTHER, None
    if (at_random := _judge_at_random(check, expected, script, whole)) is not None:
        return at_random, RANDOM_NUMBERS.code if at_random is CheckResult.UNREACHED else None
    is_broken_script = check_result is CheckResult.OTHER and is_broken(result)
    return (CheckResult.UNREACHED if is_broken_script else check_result), None


def _judge_text_alone(
    check: Check, expected: Sequence[Check], claim: Claim, stdout: str
) -> tuple[CheckResult, str | None] | None:
    """The result where spelling or dtypes, which do not count elsewhere, are the point of the claim."""
    opposite = claim.having(Role.BUG) if check.role is Role.EXPECTED else expected
    if (spelling := judge_spelling(check, opposite, stdout)) is not None:
        return spelling, None
    if Trait.AGREE not in claim.right_traits or expected:
        return None
    of_dtypes = judge_dtypes_at_issue(check, stdout)
    if of_dtypes is None:
        return None
    return of_dtypes, oracles.TWIN_VALUE if of_dtypes is CheckResult.ABSENT else None


def _judge_shown(
    check: Check, result: Result, expected: Sequence[Check], script: Script, *, whole: Result
) -> CheckResult:
    """Whether the claim is shown as it stands, or in all lines that are at issue. `whole` has echoes, too."""
    check_result = judge_kind(check, result)
    is_other = check_result is CheckResult.OTHER and not expected
    if is_other and shows_same_optima(check, result.observation.stdout):
        check_result = CheckResult.MET
    if (
        check_result is not CheckResult.MET
        and judge_lines_at_issue(check, expected, whole) is CheckResult.MET
    ):
        check_result = CheckResult.MET
    is_another = check_result is CheckResult.MET and (
        is_another_failure(check, expected, result, script)
        or is_in_another_order(check, result, script.script)
    )
    return CheckResult.OTHER if is_another else check_result


def _judge_at_random(
    check: Check, expected: Sequence[Check], script: Script, whole: Result
) -> CheckResult | None:
    """The result where random numbers are claimed; None if none are."""
    stdout = whole.observation.stdout
    in_place = numbers_in_place(check, whole) if check.kind is CheckKind.VALUE else ()
    if is_random(check, script) and misses_exact_value(check, expected, stdout, in_place):
        return CheckResult.MET
    return judge_random(check, script, stdout)


def _without_echo(check: Check, result: Result, expected: Sequence[Check]) -> Result:
    """The result without lines that name both the claimed and expected value, as `prints 17 instead of 18`.

    Such lines stay if no other line shows either value.
    """
    expected = [other for other in expected if other.kind in _PRINTED and not names_part(other)]
    lines = result.observation.stdout.splitlines()
    if check.kind not in _PRINTED or not expected or not 1 < len(lines) <= _MOST_LINES:
        return result

    def with_lines(text: Sequence[str]) -> Result:
        # The message of a failed assertion on stderr may hold either value. It says nothing about a line.
        observation = result.observation.model_copy(update={"stdout": "\n".join(text), "stderr": ""})
        return result.model_copy(update={"observation": observation})

    def meets(other: Check, text: Result) -> bool:
        number = claimed_number(other)
        if other.kind is CheckKind.VALUE and number is not None:
            return any(equals_claimed(other, number, each) for each in numbers_in(text.observation.stdout))
        return judge_kind(other, text) is CheckResult.MET

    single = [(line, with_lines([line])) for line in lines]
    others = [
        line
        for line, text in single
        if not (meets(check, text) and all(meets(other, text) for other in expected))
    ]
    rest = with_lines(others)
    rest = rest.model_copy(
        update={"observation": rest.observation.model_copy(update={"stderr": result.observation.stderr})}
    )
    return (
        rest if len(others) < len(lines) and any(meets(each, rest) for each in (check, *expected)) else result
    )


def _is_met_by_rounding(check: Check, result: Result, expected: Sequence[Check]) -> bool:
    """Whether the expected number is printed, and the claimed one fits only because prints are rounded."""
    expected_numbers = [claimed_number(other) for other in expected if other.kind is CheckKind.VALUE]
    claimed = claimed_number(check)
    if check.kind is not CheckKind.VALUE or claimed is None or not expected_numbers:
        return False
    text = [number.value for number in numbers_in_place(check, result)]
    is_exact = any(same_value(claimed.value, value) for value in text)
    return not is_exact and all(
        number is not None and any(same_value(number.value, value) for value in text)
        for number in expected_numbers
    )


def _is_met_on_stderr_only(check: Check, result: Result, expected: Sequence[Check]) -> bool:
    """Whether the expected value is printed, and the claimed one stands in a message on stderr only."""
    if check.kind not in _PRINTED:
        return False
    observation = result.observation.model_copy(update={"stderr": ""})
    printed = result.model_copy(update={"observation": observation})
    return judge_kind(check, printed) is not CheckResult.MET and shows_expected(
        check, [(other, printed) for other in expected]
    )
