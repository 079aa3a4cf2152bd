"""Judges that printed values lack a trait: two of them should agree, or all should differ from each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from app.intake.claim.claims import Check, Trait
from app.judging.gone.traits import HAS
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import Token, form_of
from app.judging.output.printed_numbers import Number, matches, same_value
from app.judging.output.printed_values import printed_values, tokens_of_value
from worker.contract import Outcome, Result

_DTYPE = re.compile(r"dtype=(?:torch\.|np\.|numpy\.|')?(?P<name>\w{2,20})")
# Rounding of one operation or a few, by the narrower dtype.
_ROUNDING: Mapping[str, float] = {"float16": 4e-3, "bfloat16": 2e-2, "half": 4e-3}
_OF_FLOAT32 = 4e-6
# A larger share is no rounding.
_CLEAR = 10.0
_OF_WHOLE = frozenset((Trait.NOT_ZEROS, Trait.NOT_NAN))


def judge_printed_traits(check: Check, result: Result) -> CheckResult:
    """MET if the printed values lack the trait, ABSENT if they have it."""
    if result.outcome is not Outcome.COMPLETED:
        failed = result.outcome in {Outcome.RAISED, Outcome.CRASHED}
        return CheckResult.OTHER if failed else CheckResult.UNREACHED
    judge = _JUDGES.get(check.trait) if check.trait is not None else None
    values = printed_values(result.observation.stdout, check.prints)
    if check.trait in _OF_WHOLE and check.prints == 1:
        # A series takes several lines, and none of them opens a bracket.
        values = [result.observation.stdout]
    has = HAS.get(check.trait) if check.trait is not None else None
    if has is not None:
        return _judge_last(has, values)
    if judge is None or len(values) < 2 or any(at > len(values) for at in check.among):
        return CheckResult.UNREACHED
    return judge([values[at - 1] for at in check.among] or values)


def _judge_last(has: Callable[[str], bool | None], values: Sequence[str]) -> CheckResult:
    """MET if the last value lacks the trait. A value above it that lacks it may be an input: UNREACHED."""
    if not values or values[-1].strip() == "None":
        return CheckResult.OTHER if values else CheckResult.UNREACHED
    answer = has(values[-1])
    if answer is None:
        return CheckResult.UNREACHED
    if answer and any(has(value) is False for value in values[:-1]):
        return CheckResult.UNREACHED
    return CheckResult.ABSENT if answer else CheckResult.MET


def agree(one: str, other: str) -> bool | None:
    """Whether two printed values agree but for rounding; None if that is not clear."""
    first, second = tokens_of_value(one), tokens_of_value(other)
    if form_of(first) != form_of(second):
        return False
    dtypes = [_DTYPE.findall(value) for value in (one, other)]
    rounding = max([_ROUNDING.get(name, _OF_FLOAT32) for names in dtypes for name in names] or [_OF_FLOAT32])
    distance = max(map(_distance, first, second), default=0.0)
    if distance <= rounding:
        # With other dtypes, equal values may be the bug.
        return True if dtypes[0] == dtypes[1] or distance > 0 else None
    return False if distance > _CLEAR * rounding else None


def _distance(one: Token, other: Token) -> float:
    """The distance of two numbers, as a share of the larger one; 0 for equal words."""
    if not isinstance(one, Number) or not isinstance(other, Number) or matches(one, other):
        return 0.0
    if one.imaginary != other.imaginary or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return math.inf
    if same_value(abs(one.value), abs(other.value)) and one.value == 0:
        return 0.0
    return abs(one.value - other.value) / max(1.0, abs(one.value), abs(other.value))


def _judge_agreement(values: Sequence[str]) -> CheckResult:
    answers = [agree(values[0], other) for other in values[1:]]
    if any(answer is False for answer in answers):
        return CheckResult.MET
    if not all(answers) or not all(map(_is_finite, values)):
        return CheckResult.OTHER
    return CheckResult.ABSENT


def _is_finite(value: str) -> bool:
    return all(math.isfinite(token.value) for token in tokens_of_value(value) if isinstance(token, Number))


def _judge_distinct(values: Sequence[str]) -> CheckResult:
    different = len({" ".join(value.split()) for value in values})
    if different == 1:
        # Values that differ in blanks alone may be what `strip` makes of them.
        return CheckResult.MET if len(set(values)) == 1 else CheckResult.OTHER
    if len({len(tokens_of_value(value)) for value in values}) > 1:
        # These are no values of one kind.
        return CheckResult.OTHER
    return CheckResult.ABSENT if different == len(values) else CheckResult.OTHER


_JUDGES: Mapping[Trait, Callable[[Sequence[str]], CheckResult]] = {
    Trait.AGREE: _judge_agreement,
    Trait.DISTINCT: _judge_distinct,
}
