"""What became of a check in one attempt: one judge for each kind, then what the target lacks and where the claim is said to hold."""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Callable, Mapping, Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.vocabulary import DTYPE, device_of
from app.intake.reading import Script
from app.judging.judgement import CheckResult, Finding
from app.judging.output.failure_signature import (
    crashed_as,
    failures_of,
    last_name,
    matches_exception,
    printed_failure,
    prints_exception,
    warnings_in,
)
from app.judging.output.numbers import Number, numbers_in, same_value
from app.judging.output.numbers import matches as same_number
from app.judging.output.printed_lines import found_lines, is_duration, nearest_line
from app.judging.output.sides import lines_of_sides, side_of, side_says, sides_agree
from app.judging.output.value_position import has_label, lines_with, numbers_of, numbers_standing, stands
from app.judging.verdict.guards import left_out
from app.judging.verdict.places import away, excluded
from app.judging.verdict.reach import (
    ABSOLUTE_TIME,
    ENDED_EARLIER,
    MEMORY_LIMIT,
    NO_SIDES,
    NO_TIMES,
    NOTHING_SHOWN,
    PATH_NOT_TAKEN,
    ended_by_limit,
    lack_of,
)
from app.judging.verdict.speed import is_slower, ratio_in
from app.judging.verdict.spelling import judge_spelling
from app.targets.target import Target
from worker.contract import Device, Outcome, Reason, Result

MOST_OBSERVED = 400
_LINE_OF_CODE = re.compile(r"\.py:\d+\b|\bline \d+, in\b|^\s|\w(?:Error|Exception|Warning)\b")
# Longer output is data and holds no sentences about itself.
_MOST_LINES = 200
# A script that ends with one of these was broken before it came to its point, unless that is what is claimed.
BROKEN = {"NameError", "SyntaxError", "IndentationError", "TabError"}
# In an attempt by itself, nothing was shown. Beside attempts that showed the claim, it is one that did not.
SILENT = {NOTHING_SHOWN.code, PATH_NOT_TAKEN.code}


def judge_check(
    check: Check, result: Result, *, expected: Sequence[Check], script: Script, target: Target
) -> Finding:
    """A check over one attempt. `expected` are the claim's checks of what should be seen instead."""
    elsewhere = excluded(check, target)
    if elsewhere is not None:
        return _finding(check, CheckResult.UNREACHED, result, reason=elsewhere)
    found = _seen(check, result, expected)
    reason = _outweighs(check, result, lack_of(result, script, target), found)
    if (
        reason is None
        and (found is not CheckResult.MET or _says_little(check))
        and device_of(check.text) != Device.CPU
    ):
        reason = left_out(result, script, target)
    if reason is None and found is not CheckResult.MET:
        reason = ABSOLUTE_TIME if _of_time(check) else away(check, result, target)
    if reason is None and found is CheckResult.UNREACHED:
        reason = _why_nothing(check, result)
    return _finding(check, CheckResult.UNREACHED if reason is not None else found, result, reason=reason)


def _outweighs(check: Check, result: Result, lack: Reason | None, found: CheckResult) -> Reason | None:
    """The lack, where it speaks louder than what was seen: always, unless the claim itself was plainly met."""
    if lack is None or found is not CheckResult.MET:
        return lack
    limit = ended_by_limit(result)
    match check.kind:
        case CheckKind.EXIT_STATUS | CheckKind.NO_ERROR:
            return lack
        case CheckKind.OUT_OF_MEMORY:
            return limit
        case CheckKind.EXCEPTION if lack.code in {"no_gpu", "too_few_gpus"} or _says_little(check):
            return None if lack == MEMORY_LIMIT and limit is None else lack
        case _:
            return None


def _says_little(check: Check) -> bool:
    """Whether any failure of a kind, an exit status, or that nothing is raised would do."""
    return check.kind in {CheckKind.EXIT_STATUS, CheckKind.NO_ERROR} or (
        check.kind is CheckKind.EXCEPTION and not (check.message or "").strip()
    )


def _of_time(check: Check) -> bool:
    """Whether the claimed value is a duration."""
    if check.kind is CheckKind.VALUE:
        return any(
            is_duration(found)
            for found in re.findall(rf"(?<![\w.]){re.escape(check.number or '')}\s?[\w/µ]+", check.text)
        )
    return (
        check.kind is CheckKind.OUTPUT
        and bool(check.lines)
        and all(is_duration(line) for line in check.lines)
    )


def _why_nothing(check: Check, result: Result) -> Reason:
    if result.outcome is not Outcome.COMPLETED:
        return ENDED_EARLIER
    if check.kind is CheckKind.SLOWER:
        return NO_TIMES
    return NO_SIDES if check.kind is CheckKind.DIFFERS else NOTHING_SHOWN


def _finding(check: Check, found: CheckResult, result: Result, *, reason: Reason | None = None) -> Finding:
    return Finding(
        text=check.text, result=found, observed=observed(check, result)[:MOST_OBSERVED], reason=reason
    )


def observed(check: Check, result: Result) -> str:
    """What was seen in the check's place, in the script's own words: hostile text."""
    seen = result.observation
    if check.kind is CheckKind.DIFFERS and check.sides:
        lines = lines_of_sides(seen.stdout, check.sides)
        if any(lines.values()):
            return "\n".join(line for side in lines.values() for line in side)
    if (
        check.kind in {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.VARIES, CheckKind.DIFFERS}
        and seen.stdout.strip()
    ):
        near = nearest_line(check.lines, seen.stdout) if check.lines else None
        return near or seen.stdout.strip()
    if seen.exception is not None:
        return f"{seen.exception.type}: {seen.exception.message}"
    return seen.signal or str(result.outcome)


def _seen(check: Check, result: Result, expected: Sequence[Check]) -> CheckResult:
    """What was seen, lacks aside."""
    spelling = judge_spelling(check, expected, result.observation.stdout)
    if spelling is not None:
        return spelling
    result = _without_echo(check, result, expected)
    found = _of_kind(check, result)
    if found is CheckResult.MET:
        return CheckResult.ABSENT if _only_nearly(check, result, expected) else found
    if _as_expected(expected, result):
        return CheckResult.ABSENT
    raised = result.observation.exception
    if found is CheckResult.OTHER and raised is not None and last_name(raised.type) in BROKEN:
        return CheckResult.UNREACHED
    return found


def _without_echo(check: Check, result: Result, expected: Sequence[Check]) -> Result:
    """The result without lines that tell the claimed and the expected value both, such as `prints 17 instead of 18`, if others tell one."""
    wanted = [other for other in expected if other.kind in _PRINTED]
    lines = result.observation.stdout.splitlines()
    if check.kind not in _PRINTED or not wanted or not 1 < len(lines) <= _MOST_LINES:
        return result

    def showing(kept: Sequence[str]) -> Result:
        return result.model_copy(
            update={"observation": result.observation.model_copy(update={"stdout": "\n".join(kept)})}
        )

    def met(other: Check, line: Result) -> bool:
        claimed = _claimed_number(other)
        if other.kind is CheckKind.VALUE and claimed is not None:
            return any(same_number(claimed, number) for number in numbers_in(line.observation.stdout))
        return _of_kind(other, line) is CheckResult.MET

    alone = [(line, showing([line])) for line in lines]
    kept = [line for line, one in alone if not (met(check, one) and all(met(other, one) for other in wanted))]
    rest = showing(kept)
    return rest if len(kept) < len(lines) and any(met(other, rest) for other in (check, *wanted)) else result


_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}


def _of_kind(check: Check, result: Result) -> CheckResult:
    return _JUDGES[check.kind](check, result)


def _met_or(met: bool, result: Result) -> CheckResult:  # noqa: FBT001 - the one thing it is about
    """For failures: met, or gone, or another one."""
    if met:
        return CheckResult.MET
    return (
        CheckResult.ABSENT
        if result.outcome is Outcome.COMPLETED and not printed_failure(result)
        else CheckResult.OTHER
    )


def _exception(check: Check, result: Result) -> CheckResult:
    shown = failures_of(result)
    if (check.exception_type or "").endswith("Warning"):
        shown = [*shown, *warnings_in(result.observation.stderr)]
    raised = any(matches_exception(check.exception_type, check.message, failure) for failure in shown)
    return _met_or(
        raised or prints_exception(check.exception_type, check.message, result.observation.stdout), result
    )


def _no_error(check: Check, result: Result) -> CheckResult:
    """Whether the error that is missing is still missing. Any other error than the one that is named is another thing."""
    if (
        check.exception_type is not None
        and _exception(check.model_copy(update={"message": ""}), result) is CheckResult.MET
    ):
        return CheckResult.ABSENT
    if check.exception_type is not None and _names(check.exception_type, result.observation.stdout):
        return CheckResult.OTHER
    return (
        CheckResult.MET
        if result.outcome is Outcome.COMPLETED and not printed_failure(result)
        else CheckResult.OTHER
    )


def _names(kind: str, stdout: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(kind)}(?!\w)", stdout) is not None


def _exit_status(check: Check, result: Result) -> CheckResult:
    status, raised = result.observation.exit_status, result.observation.exception
    broken = raised is not None and last_name(raised.type) in BROKEN
    return _met_or(status is not None and status == check.exit_status and not broken, result)


def _ran_out_of_memory(result: Result) -> bool:
    return any(
        last_name(failure.type) in {"MemoryError", "OutOfMemoryError", "_ArrayMemoryError"}
        or any(
            words in failure.message.lower()
            for words in ("out of memory", "not enough memory", "can't allocate memory")
        )
        for failure in failures_of(result)
    )


def _output(check: Check, result: Result) -> CheckResult:
    seen = result.observation
    if len(check.lines) == 1 and re.fullmatch(DTYPE, check.lines[0]):
        return _dtype(check.lines[0], _labelled(check, seen.stdout), result)
    stdout = _labelled(check, _of_its_side(check, seen.stdout))
    if not any(line.strip() for line in check.lines):
        return _nothing_printed(result)
    shown = stands(check.lines[0], stdout.splitlines()) if len(check.lines) == 1 else None
    if shown or (shown is None and found_lines(check.lines, stdout)) or found_lines(check.lines, seen.stderr):
        return CheckResult.MET
    return (
        CheckResult.OTHER
        if seen.stdout.strip() or result.outcome in {Outcome.RAISED, Outcome.CRASHED}
        else CheckResult.UNREACHED
    )


def _nothing_printed(result: Result) -> CheckResult:
    if result.outcome is not Outcome.COMPLETED:
        return CheckResult.UNREACHED
    return CheckResult.OTHER if result.observation.stdout.strip() else CheckResult.MET


def _labelled(check: Check, stdout: str) -> str:
    """The lines that hold the check's label, if any does; else all."""
    lines = stdout.splitlines()
    return "\n".join([line for line in lines if check.label and has_label(line, check.label)] or lines)


def _dtype(claimed: str, stdout: str, result: Result) -> CheckResult:
    """A dtype is a word wherever it stands, also in `tensor(1., dtype=torch.float64)`."""
    last = claimed.rsplit(".", 1)[-1]
    if re.search(rf"(?<!\w){re.escape(last)}(?!\w)", stdout):
        return CheckResult.MET
    return (
        CheckResult.OTHER
        if stdout.strip() or result.outcome in {Outcome.RAISED, Outcome.CRASHED}
        else CheckResult.UNREACHED
    )


def _of_its_side(check: Check, stdout: str) -> str:
    """The lines that name the check's device, if it has one and lines name it; else all."""
    if check.where.device not in {"cpu", "cuda"}:
        return stdout
    mine = [line for line in stdout.splitlines() if side_of(line, ("cpu", "cuda")) == check.where.device]
    return "\n".join(mine) if mine else stdout


def _value(check: Check, result: Result) -> CheckResult:
    claimed, shown = _claimed_number(check), _numbers_in_place(check, result)
    if claimed is None:
        return CheckResult.UNREACHED
    if any(same_number(claimed, number) for number in shown) or _is_status(claimed, check, result):
        return CheckResult.MET
    anywhere = [number for line in _value_lines(check, result) for number in numbers_of(line)]
    if check.position is None and any(same_number(claimed, number) for number in anywhere):
        # It stands in a longer line, where it may be anything.
        return CheckResult.UNREACHED
    return (
        CheckResult.OTHER
        if anywhere or result.outcome in {Outcome.RAISED, Outcome.CRASHED}
        else CheckResult.UNREACHED
    )


def _is_status(claimed: Number, check: Check, result: Result) -> bool:
    """Whether the number is how a shell tells of the script's end: `returns 139`."""
    seen = result.observation
    number = _SIGNALS.get(seen.signal or "")
    status = seen.exit_status if number is None else 128 + number
    ended = result.outcome in {Outcome.EXITED, Outcome.CRASHED} and status is not None
    return ended and claimed.whole and claimed.value == status and _RETURNS.search(check.text) is not None


_SIGNALS = {each.name: each.value for each in signals.Signals}
_RETURNS = re.compile(r"\b(?:returns?|returned|exits?|exited|status|code)\b", re.IGNORECASE)


def _claimed_number(check: Check) -> Number | None:
    found = numbers_in(check.number or "")
    return found[0] if found else None


def _value_lines(check: Check, result: Result) -> list[str]:
    """The lines that may show the claimed value: of its device, with its label."""
    stdout = result.observation.stdout
    lines = _of_its_side(check, stdout).splitlines()
    if not stdout.strip():
        # Logs go to the other stream, between warnings and tracebacks, whose numbers are those of lines.
        lines = [
            line for line in result.observation.stderr.splitlines() if _LINE_OF_CODE.search(line) is None
        ]
    return lines_with(check.label, lines)


def _numbers_in_place(check: Check, result: Result) -> list[Number]:
    """The numbers that may be the claimed one: where a value stands on its line, or at its position."""
    lines = _value_lines(check, result)
    if check.position is None:
        return [number for line in lines for number in numbers_standing(line, check.label)]
    numbers = [number for line in lines for number in numbers_in(line)]
    return numbers[-1:] if check.position == "last" else numbers[:1]


def _hang(check: Check, result: Result) -> CheckResult:
    if result.outcome is Outcome.TIMED_OUT:
        stands = bool(check.message) and (check.message or "") in result.observation.stacks
        return CheckResult.MET if result.observation.idle or stands else CheckResult.UNREACHED
    return _met_or(met=False, result=result)


def _differs(check: Check, result: Result) -> CheckResult:
    lines = lines_of_sides(result.observation.stdout, check.sides)
    if not check.sides or not all(lines.values()):
        return CheckResult.UNREACHED
    if sides_agree(lines):
        return CheckResult.ABSENT
    claimed = [(side, line) for side, line in zip(check.sides, check.side_lines, strict=False) if line]
    return (
        CheckResult.MET
        if all(side_says(lines[side], side, line) for side, line in claimed)
        else CheckResult.OTHER
    )


def _as_expected(expected: Sequence[Check], result: Result) -> bool:
    """Whether what should be seen instead is seen: all of it."""
    mine = [check for check in expected if check.role is Role.EXPECTED and check.kind in _SHOWN_INSTEAD]
    return bool(mine) and all(_of_kind(check, result) is CheckResult.MET for check in mine)


_SHOWN_INSTEAD = {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.EXCEPTION}


def _only_nearly(check: Check, result: Result, expected: Sequence[Check]) -> bool:
    """Whether the expected number is there exactly, and the claimed one only because the prints are short."""
    wanted = [_claimed_number(other) for other in expected if other.kind is CheckKind.VALUE]
    claimed = _claimed_number(check)
    if check.kind is not CheckKind.VALUE or claimed is None or not wanted:
        return False
    shown = [number.value for number in _numbers_in_place(check, result)]
    exactly = any(same_value(claimed.value, value) for value in shown)
    return not exactly and all(
        number is not None and any(same_value(number.value, value) for value in shown) for number in wanted
    )


def _crash(check: Check, result: Result) -> CheckResult:
    return _met_or(crashed_as(check.signal, result), result)


def _out_of_memory(_: Check, result: Result) -> CheckResult:
    return _met_or(_ran_out_of_memory(result), result)


def _varies(_: Check, __: Result) -> CheckResult:
    """One attempt by itself tells nothing of repeats."""
    return CheckResult.UNREACHED


def _slower(check: Check, result: Result) -> CheckResult:
    ratio = ratio_in(check, result)
    return CheckResult.UNREACHED if ratio is None else is_slower(ratio, check.factor)


_JUDGES: Mapping[CheckKind, Callable[[Check, Result], CheckResult]] = {
    CheckKind.EXCEPTION: _exception,
    CheckKind.CRASH: _crash,
    CheckKind.EXIT_STATUS: _exit_status,
    CheckKind.OUTPUT: _output,
    CheckKind.VALUE: _value,
    CheckKind.HANG: _hang,
    CheckKind.OUT_OF_MEMORY: _out_of_memory,
    CheckKind.VARIES: _varies,
    CheckKind.DIFFERS: _differs,
    CheckKind.SLOWER: _slower,
    CheckKind.NO_ERROR: _no_error,
}
