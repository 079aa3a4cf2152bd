"""Judges a check in one attempt by its kind alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.intake.claim.claims import Check, CheckKind
from app.judging.check.failure_checks import (
    judge_crash,
    judge_exception,
    judge_exit_status,
    judge_hang,
    judge_no_error,
    judge_out_of_memory,
)
from app.judging.check.output_checks import judge_difference, judge_output, judge_value
from app.judging.check.printed_traits import judge_printed_traits
from app.judging.check.speed import is_slower, ratio_in
from app.judging.gone.bounds import judge_bounds
from app.judging.judgement import CheckResult
from worker.contract import Result


def judge_kind(check: Check, result: Result) -> CheckResult:
    """The result by the output and the failure, without regard to what the report calls right."""
    return _JUDGES[check.kind](check, result)


def _judge_variation(_: Check, __: Result) -> CheckResult:
    """One attempt by itself says nothing about repeats."""
    return CheckResult.UNREACHED


def _judge_slowness(check: Check, result: Result) -> CheckResult:
    ratio = ratio_in(check, result)
    return CheckResult.UNREACHED if ratio is None else is_slower(ratio, check.factor)


_JUDGES: Mapping[CheckKind, Callable[[Check, Result], CheckResult]] = {
    CheckKind.EXCEPTION: judge_exception,
    CheckKind.CRASH: judge_crash,
    CheckKind.EXIT_STATUS: judge_exit_status,
    CheckKind.OUTPUT: judge_output,
    CheckKind.VALUE: judge_value,
    CheckKind.HANG: judge_hang,
    CheckKind.OUT_OF_MEMORY: judge_out_of_memory,
    CheckKind.VARIES: _judge_variation,
    CheckKind.DIFFERS: judge_difference,
    CheckKind.SLOWER: _judge_slowness,
    CheckKind.NO_ERROR: judge_no_error,
    CheckKind.OUT_OF_BOUNDS: judge_bounds,
    CheckKind.LACKS: judge_printed_traits,
}
