"""Rates of right and wrong answers, each with its number and a 95 % bound."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.judging.verdict.rates import rate_upper_bound
from bench.evidence.material import Answer, Case
from bench.fixed_rates import fixed_interval


@dataclass(frozen=True)
class Outcome:
    """A case with the dossier's answer."""

    case: Case
    answer: Answer

    @property
    def false_alarm(self) -> bool:
        return self.answer.defect == "yes" and "yes" not in self.case.defects

    @property
    def missed(self) -> bool:
        return self.answer.defect == "no" and "no" not in self.case.defects

    @property
    def left_open(self) -> bool:
        return self.answer.defect == "undecided" and "undecided" not in self.case.defects

    @property
    def cause_is_right(self) -> bool:
        return self.answer.cause in self.case.causes

    @property
    def operation_is_right(self) -> bool:
        """The label may leave the overload open, and an operation in place counts as the operation."""
        return self.answer.operation in self.case.operations

    @property
    def is_right(self) -> bool:
        operation = not self.case.operations or self.operation_is_right
        return self.answer.defect in self.case.defects and self.cause_is_right and operation


def outcomes(cases: Sequence[Case], answers: Mapping[str, Answer]) -> list[Outcome]:
    """Each case that has an answer."""
    return [Outcome(case, answers[case.name]) for case in cases if case.name in answers]


def rates(every: Sequence[Outcome]) -> dict[str, str]:
    """The figures of EVIDENCE: alarms, misses, undecided, causes, operations, and the cost."""
    harmless = [each for each in every if each.case.kind == "harmless"]
    defects = [each for each in every if each.case.kind == "defect"]
    with_operation = [each for each in every if each.case.operations]
    return {
        "all right": _at_least(every, lambda each: each.is_right),
        "false alarms": _at_most(harmless, lambda each: each.false_alarm),
        "missed defects": _at_most(defects, lambda each: each.missed),
        "undecided, harmless": _at_most(harmless, lambda each: each.left_open),
        "undecided, defects": _at_most(defects, lambda each: each.left_open),
        "cause right": _at_least(every, lambda each: each.cause_is_right),
        "operation right": _at_least(with_operation, lambda each: each.operation_is_right),
        "families": str(len({each.case.family for each in every})),
        "cost of a trace": _cost(every),
    }


def _at_most(every: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> str:
    """A rate that should be small, with its upper 95 % bound: one-sided for none, else two-sided."""
    count, of = sum(map(holds, every)), len(every)
    bound = rate_upper_bound(of) if count == 0 else getattr(fixed_interval(count, of), "high", None)
    return f"{count} of {of}" + (f" (at most {bound:.1%})" if bound is not None else "")


def _at_least(every: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> str:
    """A rate that should be great, with its 95 % interval."""
    count, of = sum(map(holds, every)), len(every)
    interval = fixed_interval(count, of)
    return f"{count} of {of}" + (f" ({interval.low:.0%} to {interval.high:.0%})" if interval else "")


def _cost(every: Sequence[Outcome]) -> str:
    ratios = sorted(
        each.answer.traced_seconds / each.answer.plain_seconds
        for each in every
        if each.answer.plain_seconds and each.answer.traced_seconds
    )
    if not ratios:
        return "unknown"
    middle = statistics.median(ratios)
    return f"{middle:.1f} x the plain one (median of {len(ratios)}), at most {ratios[-1]:.1f} x"
