"""Tells whether results put numbers in question, so that tracing the script is worth its time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.intake.claim.claims import CheckKind, Claim, Over, Role
from app.intake.reading import Script
from app.judging.output.printed_lines import without_times
from app.judging.output.printed_numbers import Number, numbers_in, same_value
from app.targets.planning.cause_tests import TRACED, imports_torch
from app.targets.target import Target
from worker.contract import Outcome, Result

# Two sides of a difference.
MOST_TRACED = 2
# A claim of one of these is about a failure, and not about numbers.
FAILURES = frozenset(
    {
        CheckKind.EXCEPTION,
        CheckKind.CRASH,
        CheckKind.EXIT_STATUS,
        CheckKind.HANG,
        CheckKind.OUT_OF_MEMORY,
        CheckKind.SLOWER,
        CheckKind.NO_ERROR,
    }
)
# Settings that test for a cause: what they change is no difference between targets.
_TESTS = frozenset({"trace", "fill", "fix", "seed", "compile", "tf32", "deterministic", "threads"})
# The words of a failed check of closeness in torch and numpy.
_NOT_CLOSE = re.compile(
    r"\b(?:tensor-likes|scalars) are not (?:close|equal)|\bnot equal to tolerance\b", re.IGNORECASE
)
_MOST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class TargetResults:
    """The results of one script on one target."""

    target: Target
    results: Sequence[Result]


def targets_to_trace(claim: Claim, script: Script, cells: Sequence[TargetResults]) -> list[Target]:
    """The targets, with `trace=on`, that would explain the numbers that these results put in question.

    Empty if the claim is about a failure, if the script draws without a seed, or if something is traced
    already.
    """
    if not imports_torch(script.script) or script.unseeded or _is_about_failures(claim):
        return []
    if any("trace" in cell.target.settings for cell in cells):
        return []
    plain = [cell for cell in cells if cell.results and not _TESTS.intersection(cell.target.settings)]
    chosen = next(filter(None, (_apart(plain), _by_itself(plain), _by_claim(claim, plain))), [])
    return [
        target.model_copy(update={"settings": {**target.settings, **TRACED}})
        for target in chosen[:MOST_TRACED]
    ]


def _is_about_failures(claim: Claim) -> bool:
    """Whether the claim is about a failure; a check of closeness that fails is about numbers."""
    return any(
        check.kind in FAILURES and not _NOT_CLOSE.search(f"{check.message or ''} {check.text[:_MOST_TEXT]}")
        for check in claim.having(Role.BUG)
    )


def _apart(cells: Sequence[TargetResults]) -> list[Target]:
    """The first two targets whose numbers differ, while each target's repeats agree."""
    steady = [(cell.target, numbers) for cell in cells if (numbers := _steady_numbers(cell)) is not None]
    if not steady:
        return []
    target, first = steady[0]
    other = next((each for each, numbers in steady[1:] if _numbers_differ(first, numbers)), None)
    return [] if other is None else [target, other]


def _by_itself(cells: Sequence[TargetResults]) -> list[Target]:
    """The first target that shows a NaN, an infinity, or a check of closeness that fails."""
    return next(([cell.target] for cell in cells if any(map(_shows_a_doubtful_number, cell.results))), [])


def _by_claim(claim: Claim, cells: Sequence[TargetResults]) -> list[Target]:
    """The first target that completed, if the claim holds numbers of one attempt against each other."""
    if not any(
        check.kind is CheckKind.DIFFERS and check.over is Over.ATTEMPT for check in claim.having(Role.BUG)
    ):
        return []
    return next(
        (
            [cell.target]
            for cell in cells
            if all(result.outcome is Outcome.COMPLETED for result in cell.results)
        ),
        [],
    )


def _shows_a_doubtful_number(result: Result) -> bool:
    seen = result.observation
    if seen.exception is not None:
        return _NOT_CLOSE.search(seen.exception.message[:_MOST_TEXT]) is not None
    return result.outcome is Outcome.COMPLETED and any(
        not math.isfinite(number.value) for number in _numbers(seen.stdout)
    )


def _steady_numbers(cell: TargetResults) -> list[Number] | None:
    """The numbers that every attempt printed; None if one failed or printed others."""
    outputs = {result.observation.stdout for result in cell.results}
    if len(outputs) != 1 or any(result.outcome is not Outcome.COMPLETED for result in cell.results):
        return None
    return list(_numbers(outputs.pop()))


def _numbers(stdout: str) -> Iterator[Number]:
    for line in stdout[:_MOST_TEXT].splitlines():
        yield from numbers_in(without_times(line))


def _numbers_differ(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether two prints of one form differ in a number that is no count: counts differ for other reasons."""
    return len(one) == len(other) and any(
        not (mine.whole and theirs.whole) and not same_value(mine.value, theirs.value)
        for mine, theirs in zip(one, other, strict=True)
    )
