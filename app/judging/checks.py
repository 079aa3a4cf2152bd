"""What became of a check in one attempt, or over the repeats of a job: one judge for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from app.intake.claims import Check, CheckKind, Over, Role
from app.intake.reading import Script
from app.judging.judgement import CheckResult, Finding
from app.judging.numbers import matches as same_number
from app.judging.numbers import number_of, numbers_in
from app.judging.output import fingerprint, found_lines, nearest_line
from app.judging.reach import NO_GPU, NO_SIDES, NOTHING_SHOWN, ONE_ONLY, lack_of
from app.judging.sides import lines_of_sides, side_says, sides_agree
from app.judging.signature import exceptions_in, matches_exception
from app.targets.target import Target
from worker.contract import Device, ExceptionFacts, Outcome, Reason, Result

MOST_OBSERVED = 400


def excluded(check: Check, target: Target) -> Reason | None:
    """Why the check does not speak of this target; None when it does."""
    if check.where.device == Device.CUDA and target.device is Device.CPU:
        return NO_GPU
    return None


def judge_check(check: Check, result: Result, *, expected: Sequence[Check], script: Script, target: Target) -> Finding:
    """A check over one attempt. `expected` are the claim's checks of what should be seen instead."""
    lack = lack_of(result, script, target)
    away = excluded(check, target)
    if away is not None:
        return _finding(check, CheckResult.UNREACHED, result, reason=away)
    found = _seen(check, result, expected)
    if found is CheckResult.MET and lack is not None and lack.code in {"no_gpu", "too_few_gpus"} and check.kind is CheckKind.EXCEPTION:
        return _finding(check, CheckResult.UNREACHED, result, reason=lack)
    if found is not CheckResult.MET and lack is not None:
        return _finding(check, CheckResult.UNREACHED, result, reason=lack)
    if found is CheckResult.UNREACHED:
        return _finding(check, found, result, reason=NO_SIDES if check.kind is CheckKind.DIFFERS else NOTHING_SHOWN)
    return _finding(check, found, result)


def _finding(check: Check, found: CheckResult, result: Result, *, reason: Reason | None = None) -> Finding:
    return Finding(text=check.text, result=found, observed=observed(check, result)[:MOST_OBSERVED], reason=reason)


def observed(check: Check, result: Result) -> str:
    """What was seen in the check's place, in the script's own words: hostile text."""
    seen = result.observation
    if check.kind is CheckKind.DIFFERS and check.sides:
        lines = lines_of_sides(seen.stdout, check.sides)
        if any(lines.values()):
            return "\n".join(line for side in lines.values() for line in side)
    if check.kind in {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.VARIES, CheckKind.DIFFERS} and seen.stdout.strip():
        near = nearest_line(check.lines, seen.stdout) if check.lines else None
        return near or seen.stdout.strip()
    if seen.exception is not None:
        return f"{seen.exception.type}: {seen.exception.message}"
    return seen.signal or str(result.outcome)


def _seen(check: Check, result: Result, expected: Sequence[Check]) -> CheckResult:  # noqa: PLR0911 - one arm a kind
    """What was seen, lacks aside."""
    match check.kind:
        case CheckKind.EXCEPTION:
            return _exception(check, result)
        case CheckKind.CRASH:
            return _crash(check, result)
        case CheckKind.EXIT_STATUS:
            return _exit_status(check, result)
        case CheckKind.OUTPUT:
            return _output(check, result, expected)
        case CheckKind.VALUE:
            return _value(check, result, expected)
        case CheckKind.HANG:
            return _hang(result)
        case CheckKind.OUT_OF_MEMORY:
            return _out_of_memory(result)
        case CheckKind.DIFFERS:
            return _differs(check, result)
        case CheckKind.VARIES:
            return CheckResult.UNREACHED if result.outcome is not Outcome.COMPLETED else CheckResult.ABSENT
        case _:
            assert_never(check.kind)


def _ended_well(result: Result) -> bool:
    return result.outcome is Outcome.COMPLETED


def _failures(result: Result) -> list[ExceptionFacts]:
    seen = result.observation
    raised = [] if seen.exception is None else [seen.exception]
    return raised + exceptions_in(seen.stderr) + exceptions_in(seen.stdout)


def _exception(check: Check, result: Result) -> CheckResult:
    if any(matches_exception(check.exception_type, check.message, failure) for failure in _failures(result)):
        return CheckResult.MET
    if _printed_exception(check, result.observation.stdout):
        return CheckResult.MET
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _printed_exception(check: Check, stdout: str) -> bool:
    """Whether the script caught it and printed its type and message itself."""
    if not check.exception_type or not (check.message or "").strip():
        return False
    name = check.exception_type.rsplit(".", 1)[-1]
    for line in stdout.splitlines():
        before, found, after = line.partition(name)
        if found and not (before and (before[-1].isalnum() or before[-1] == "_")):
            printed = ExceptionFacts(type=name, message=after.lstrip(" :('\""))
            if matches_exception(name, check.message, printed):
                return True
    return False


def _crash(check: Check, result: Result) -> CheckResult:
    seen = result.observation
    signal = check.signal or "SIGSEGV"
    said = (f"terminated with signal {signal}", f"died with <Signals.{signal}")
    in_child = any(words in failure.message for failure in _failures(result) for words in said)
    if seen.signal == signal or in_child:
        return CheckResult.MET
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _exit_status(check: Check, result: Result) -> CheckResult:
    status = result.observation.exit_status
    if status is not None and status == check.exit_status:
        return CheckResult.MET
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _output(check: Check, result: Result, expected: Sequence[Check]) -> CheckResult:
    stdout = result.observation.stdout
    if found_lines(check.lines, stdout):
        return CheckResult.MET
    if _as_expected(expected, result):
        return CheckResult.ABSENT
    if not stdout.strip() and _ended_well(result):
        return CheckResult.UNREACHED
    return CheckResult.OTHER


def _as_expected(expected: Sequence[Check], result: Result) -> bool:
    """Whether the value that should be seen is seen."""
    mine = [check for check in expected if check.role is Role.EXPECTED and check.kind in {CheckKind.OUTPUT, CheckKind.VALUE}]
    stdout = result.observation.stdout
    return bool(mine) and all(
        found_lines(check.lines, stdout) if check.kind is CheckKind.OUTPUT else _value_shown(check, result) for check in mine
    )


def _value_shown(check: Check, result: Result) -> bool:
    claimed = number_of(check.number or "")
    lines = result.observation.stdout.splitlines()
    if check.label:
        lines = [line for line in lines if check.label.casefold() in line.casefold()]
    numbers = [number for line in lines for number in numbers_in(line)]
    if claimed is None or not numbers:
        return False
    if check.position == "last":
        numbers = numbers[-1:]
    elif check.position == "first":
        numbers = numbers[:1]
    return any(same_number(claimed, number) for number in numbers)


def _value(check: Check, result: Result, expected: Sequence[Check]) -> CheckResult:
    if _value_shown(check, result):
        return CheckResult.MET
    if _as_expected(expected, result):
        return CheckResult.ABSENT
    if not numbers_in(result.observation.stdout) and _ended_well(result):
        return CheckResult.UNREACHED
    return CheckResult.OTHER


def _hang(result: Result) -> CheckResult:
    if result.outcome is Outcome.TIMED_OUT:
        return CheckResult.MET if result.observation.idle else CheckResult.UNREACHED
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _out_of_memory(result: Result) -> CheckResult:
    for failure in _failures(result):
        if failure.type.rsplit(".", 1)[-1] in {"MemoryError", "OutOfMemoryError"} or "not enough memory" in failure.message.lower():
            return CheckResult.MET
    if result.outcome is Outcome.OUT_OF_MEMORY:
        return CheckResult.UNREACHED
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _differs(check: Check, result: Result) -> CheckResult:
    lines = lines_of_sides(result.observation.stdout, check.sides)
    if not check.sides or not all(lines.values()):
        return CheckResult.UNREACHED
    if sides_agree(lines):
        return CheckResult.ABSENT
    claimed = [(side, line) for side, line in zip(check.sides, check.side_lines, strict=False) if line]
    if all(side_says(lines[side], side, line) for side, line in claimed):
        return CheckResult.MET
    return CheckResult.OTHER


def judge_repeats(check: Check, results: Sequence[Result], *, script: Script, target: Target) -> Finding:
    """A check over the repeats of a job: another result each time."""
    away = excluded(check, target)
    lacks = [lack_of(result, script, target) for result in results]
    reached = [result for result, lack in zip(results, lacks, strict=True) if lack is None and result.outcome is not Outcome.CRASHED]
    if away is not None or len(reached) < 2:
        first_lack = next((lack for lack in lacks if lack is not None), None)
        return Finding(text=check.text, result=CheckResult.UNREACHED, reason=away or first_lack or ONE_ONLY)
    said = [(fingerprint(result.observation.stdout), result.observation.exit_status) for result in reached]
    varies = len(set(said)) > 1
    shown = "\n".join(dict.fromkeys(result.observation.stdout.strip()[:100] for result in reached))
    found = CheckResult.MET if varies else CheckResult.ABSENT
    return Finding(text=check.text, result=found, observed=shown[:MOST_OBSERVED])


def is_over_repeats(check: Check) -> bool:
    """Whether the check is judged over the repeats of a job and not in one attempt."""
    return check.over is Over.REPEATS or check.kind is CheckKind.VARIES

