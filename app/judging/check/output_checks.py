"""Checks of the output: printed lines, a printed number, and two sides that differ."""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind
from app.intake.words.vocabulary import DTYPE
from app.judging.judgement import CheckResult
from app.judging.output.printed_differences import finds_differences
from app.judging.output.printed_lines import found_lines
from app.judging.output.printed_numbers import Number, numbers_in, same_value
from app.judging.output.printed_numbers import matches as same_number
from app.judging.output.sides import lines_of_sides, side_of, side_says, sides_agree
from app.judging.output.value_position import has_label, lines_with, numbers_of, shown_numbers, shows_constant
from worker.contract import Outcome, Result

# Lines of tracebacks and of warnings.
_LINE_OF_CODE = re.compile(r"\.py:\d+\b|\bline \d+, in\b|^\s|\w(?:Error|Exception|Warning)\b")
_TRACEBACK = "Traceback (most recent call last)"
_SIGNAL_NUMBERS = {each.name: each.value for each in signals.Signals}
_LEAST_IN_ORDER = 3
_PRINTS_IN_ANY_ORDER = re.compile(
    r"\b(?:threading|Thread|asyncio|multiprocessing|concurrent|subprocess|Pool|fork|spawn\w*|set|frozenset"
    r"|hash|random|shuffle|listdir|glob)\b"
)
_STATUS_WORDS = re.compile(r"\b(?:returns?|returned|exits?|exited|status|code)\b", re.IGNORECASE)


def judge_output(check: Check, result: Result) -> CheckResult:
    """The claimed lines in stdout or stderr. Without claimed text: the script prints nothing."""
    seen = result.observation
    if len(check.lines) == 1 and re.fullmatch(DTYPE, check.lines[0]):
        return _judge_dtype(check.lines[0], _lines_with_label(check, seen.stdout), result)
    stdout = _lines_with_label(check, _lines_of_device(check, seen.stdout))
    if not any(line.strip() for line in check.lines):
        return _judge_silence(result)
    is_shown = shows_constant(check.lines[0], stdout.splitlines()) if len(check.lines) == 1 else None
    if (
        is_shown
        or (is_shown is None and found_lines(check.lines, stdout))
        or found_lines(check.lines, _without_quoted_code(seen.stderr))
    ):
        return CheckResult.MET
    return _other_or_unreached(bool(seen.stdout.strip()), result)


def _without_quoted_code(stderr: str) -> str:
    """Stderr without the frames of tracebacks: these quote the script, and print nothing."""
    if _TRACEBACK not in stderr:
        return stderr
    lines, in_traceback = list[str](), False
    for line in stderr.splitlines():
        in_traceback = line.startswith(_TRACEBACK) or (in_traceback and line.startswith("  "))
        if not in_traceback:
            lines.append(line)
    return "\n".join(lines)


def is_in_another_order(check: Check, result: Result, script: str) -> bool:
    """Whether exactly the claimed lines are printed, but in another order, by a script with one thread.

    Elsewhere lines count in any order, as a report may leave some out.
    """
    claimed = [line.strip() for line in check.lines if line.strip()]
    printed = [line.strip() for line in result.observation.stdout.splitlines() if line.strip()]
    return (
        check.kind is CheckKind.OUTPUT
        and len(claimed) >= _LEAST_IN_ORDER
        and claimed != printed
        and sorted(claimed) == sorted(printed)
        and _PRINTS_IN_ANY_ORDER.search(script) is None
    )


def judge_value(check: Check, result: Result) -> CheckResult:
    """The claimed number at a place where a value may stand.

    A claimed number inside a longer line may be anything. The result is then UNREACHED.
    """
    claimed = claimed_number(check)
    if claimed is None:
        return CheckResult.UNREACHED
    lines = _value_lines(check, result)
    # A line that is printed again shows no other value.
    once = list(dict.fromkeys(lines)) if check.position is None else lines
    in_place = any(equals_claimed(check, claimed, number) for number in _in_place(check, once))
    if in_place or _is_exit_status(claimed, check, result):
        return CheckResult.MET
    anywhere = [number for line in once for number in numbers_of(line)]
    if check.position is None and any(equals_claimed(check, claimed, number) for number in anywhere):
        return CheckResult.UNREACHED
    return _other_or_unreached(bool(anywhere), result)


def judge_difference(check: Check, result: Result) -> CheckResult:
    """Two sides that print different values, and each claimed line on its side.

    Without two sides in the output, the differences that the script itself counts decide.
    """
    lines = lines_of_sides(result.observation.stdout, check.sides)
    if not check.sides or not all(lines.values()):
        differs = finds_differences(result.observation.stdout) if check.sides else None
        return {True: CheckResult.MET, False: CheckResult.ABSENT, None: CheckResult.UNREACHED}[differs]
    if sides_agree(lines):
        return CheckResult.ABSENT
    claimed = [(side, line) for side, line in zip(check.sides, check.side_lines, strict=False) if line]
    return (
        CheckResult.MET
        if all(side_says(lines[side], side, line) for side, line in claimed)
        else CheckResult.OTHER
    )


def claimed_number(check: Check) -> Number | None:
    """The claimed value as a number; None if the check has none."""
    return next(iter(numbers_in(check.number or "")), None)


def equals_claimed(check: Check, claimed: Number, seen: Number) -> bool:
    """Whether a printed number is the claimed one: within the tolerance, else as it is printed."""
    if check.tolerance is None or claimed.imaginary != seen.imaginary:
        return same_number(claimed, seen)
    distance = abs(claimed.value - seen.value)
    # 0.7 and 0.699 are a little more than 0.001 apart in binary.
    return same_value(claimed.value, seen.value) or distance <= check.tolerance * (1 + 1e-9)


def numbers_in_place(check: Check, result: Result) -> list[Number]:
    """The printed numbers that may be the claimed one: at the claimed position, else where a value stands."""
    return _in_place(check, _value_lines(check, result))


def _in_place(check: Check, lines: Sequence[str]) -> list[Number]:
    if check.position is None:
        return [number for line in lines for number in shown_numbers(line, check.label)]
    numbers = [number for line in lines for number in numbers_in(line)]
    return numbers[-1:] if check.position == "last" else numbers[:1]


def _judge_dtype(claimed: str, stdout: str, result: Result) -> CheckResult:
    """A dtype may stand anywhere in the output, also inside `tensor(1., dtype=torch.float64)`."""
    name = claimed.rsplit(".", 1)[-1]
    if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", stdout):
        return CheckResult.MET
    return _other_or_unreached(bool(stdout.strip()), result)


def _judge_silence(result: Result) -> CheckResult:
    if result.outcome is not Outcome.COMPLETED:
        return CheckResult.UNREACHED
    return CheckResult.OTHER if result.observation.stdout.strip() else CheckResult.MET


def _other_or_unreached(has_output: bool, result: Result) -> CheckResult:  # noqa: FBT001 - the one thing it is about
    """OTHER if there is output or a failure in place of the claim, else UNREACHED."""
    failed = result.outcome in {Outcome.RAISED, Outcome.CRASHED}
    return CheckResult.OTHER if has_output or failed else CheckResult.UNREACHED


def _lines_with_label(check: Check, stdout: str) -> str:
    """The lines with the check's label; all lines if none has it."""
    lines = stdout.splitlines()
    return "\n".join([line for line in lines if check.label and has_label(line, check.label)] or lines)


def _lines_of_device(check: Check, stdout: str) -> str:
    """The lines that name the check's device; all lines if the check has no device or none names it."""
    if check.where.device not in {"cpu", "cuda"}:
        return stdout
    lines = [line for line in stdout.splitlines() if side_of(line, ("cpu", "cuda")) == check.where.device]
    return "\n".join(lines) if lines else stdout


def _value_lines(check: Check, result: Result) -> list[str]:
    """The lines that may show the claimed value: those of its device, with its label."""
    stdout = result.observation.stdout
    lines = _lines_of_device(check, stdout).splitlines()
    if not stdout.strip():
        # Logs go to stderr. There, warnings and tracebacks hold line numbers, which are no values.
        # The message of the error that ended the script says nothing about a value.
        logs = result.observation.stderr
        logs = logs.partition(_TRACEBACK)[0] if _failed_otherwise(result) else logs
        lines = [line for line in logs.splitlines() if _LINE_OF_CODE.search(line) is None]
    return lines_with(check.label, lines)


def _failed_otherwise(result: Result) -> bool:
    """Whether an error that is no failed assertion ended it. An assertion may show the value."""
    exception = result.observation.exception
    return (
        result.outcome is Outcome.RAISED
        and exception is not None
        and exception.type != AssertionError.__name__
    )


def _is_exit_status(claimed: Number, check: Check, result: Result) -> bool:
    """Whether the number is the status that a shell shows for the end of the script, as in `returns 139`."""
    seen = result.observation
    signal_number = _SIGNAL_NUMBERS.get(seen.signal or "")
    status = seen.exit_status if signal_number is None else 128 + signal_number
    ended = result.outcome in {Outcome.EXITED, Outcome.CRASHED} and status is not None
    return (
        ended and claimed.whole and claimed.value == status and _STATUS_WORDS.search(check.text) is not None
    )
