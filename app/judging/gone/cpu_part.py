"""Judges the lines of a CPU in a script that uses both devices, and ended where it needed a GPU.

Its output until then is evidence about the CPU. The claimed lines say which of them a GPU printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.words.vocabulary import shows_cuda_tensor
from app.judging.gone.oracles import VALUE_OF_GPU
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import Token, form_of, same_tokens, tokens_of
from app.judging.output.printed_numbers import Number, matches
from worker.contract import Device, Outcome, Result

_MOST_LINES = 40


def judge_cpu_part(
    check: Check, result: Result, *, expected: Sequence[Check] = ()
) -> tuple[CheckResult, str | None] | None:
    """The result by the lines of the CPU, and the oracle; None if they decide nothing.

    The bug is gone if the line that changed has the values that the report shows for the GPU, among the
    claimed lines or as what is expected.
    """
    if (
        check.role is not Role.BUG
        or check.kind is not CheckKind.OUTPUT
        or check.where.device not in {None, Device.CPU}
        or result.outcome is not Outcome.RAISED
        or len(check.lines) > _MOST_LINES
    ):
        return None
    lines = [line for one in (check, *expected) if one.kind is CheckKind.OUTPUT for line in one.lines]
    of_gpu = [tokens_of(line) for line in lines[:_MOST_LINES] if shows_cuda_tensor([line])]
    of_cpu = [tokens_of(line) for line in check.lines if not shows_cuda_tensor([line])]
    seen = [tokens for line in result.observation.stdout.splitlines() if (tokens := tokens_of(line))]
    # Each claimed line of the CPU is there, and nothing else: the GPU came right after them.
    if not of_gpu or not of_cpu or list(map(form_of, of_cpu)) != list(map(form_of, seen)):
        return None
    changed = [(one, now) for one, now in zip(of_cpu, seen, strict=True) if not same_tokens(one, now)]
    if not changed:
        return CheckResult.MET, None
    references = [_numbers(tokens) for tokens in of_gpu]
    if all(_is_one_of(_numbers(now), references) for _, now in changed):
        return CheckResult.ABSENT, VALUE_OF_GPU
    return None


def _numbers(tokens: list[Token]) -> list[Number]:
    return [token for token in tokens if isinstance(token, Number)]


def _is_one_of(numbers: list[Number], references: list[list[Number]]) -> bool:
    """Whether finite numbers are those of a reference, which may name its device behind them."""
    return (
        bool(numbers)
        and all(math.isfinite(number.value) for number in numbers)
        and any(len(other) >= len(numbers) and all(map(matches, other, numbers)) for other in references)
    )
