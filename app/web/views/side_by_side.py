"""The values for the pages of a comparison and of an attempt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from app.judging.cause.cause import sentence
from app.judging.comparison.values import ValueComparison, ValueResult, distance_text, value_text
from app.runs.lookup.comparisons import AttemptPair, ComparisonDetails
from app.runs.lookup.runs import AttemptDetails
from app.targets.target import Target
from app.web.parts import Lazy, lazily
from app.web.text.labels import look
from app.web.text.short_texts import one_line
from app.web.views.environments import environment_views
from worker.contract import CapturedValue, Outcome

# The rows of a table. The rest is in the JSON.
MOST_CAPTURED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """A value with the same name on both sides.

    `place` is the first element that differs, if the value has several. `distance` says how far they differ.
    """

    value: ValueComparison
    place: str
    distance: str
    tolerance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedRow:
    """A captured value of one attempt."""

    value: CapturedValue
    text: str
    statistics: str


def target_label(attempt: AttemptDetails) -> str:
    """The target as the command line writes it."""
    target = attempt.target
    return Target.model_validate(target.model_dump()).label()


def hardware_of(attempt: AttemptDetails) -> str:
    """The card and the CPU that an attempt ran on, as far as they are known. Untrusted if contributed."""
    names = (attempt.environment.get(name) for name in ("gpu.0.model", "cpu.model"))
    return ", ".join(name for name in names if isinstance(name, str) and name)


def endings_words(pair: AttemptPair) -> str:
    """How the two ended, if they ended differently: one completed, the other raises an error. Else empty."""
    baseline, candidate = _ending(pair.baseline), _ending(pair.candidate)
    return "" if baseline == candidate else f"The baseline {baseline}; the candidate {candidate}."


def _ending(attempt: AttemptDetails) -> str:
    seen = attempt.observation
    if attempt.outcome is Outcome.COMPLETED:
        return "runs to its end"
    if seen is not None and seen.exception is not None:
        return f"raises {one_line(seen.exception.type, 60)}"
    if seen is not None and seen.signal is not None:
        return f"ends with {one_line(seen.signal, 20)}"
    return "has no outcome" if attempt.outcome is None else f"ends as “{look(attempt.outcome).name}”"


def comparison_values(pair: AttemptPair, details: Lazy[ComparisonDetails]) -> dict[str, Any]:
    """The values for the template of a comparison, most of them lazy."""
    baseline, candidate = pair.baseline, pair.candidate
    return {
        "baseline": baseline,
        "candidate": candidate,
        "endings": lazily(endings_words, pair),
        "hardware": lazily(lambda: {"baseline": hardware_of(baseline), "candidate": hardware_of(candidate)}),
        "details": details,
        "target_labels": lazily(
            lambda: {"baseline": target_label(baseline), "candidate": target_label(candidate)}
        ),
        "values": Lazy(lambda: _value_rows(details(), alike=False)),
        "alike": Lazy(lambda: _value_rows(details(), alike=True)),
        "cause": Lazy(lambda: sentence(details().comparison.cause)),
    }


def _value_rows(details: ComparisonDetails, *, alike: bool) -> list[ValueRow]:
    """The rows of captured values that are, or are not, equal in every bit. Differing ones come first."""
    values = [value for value in details.values if (value.result is ValueResult.IDENTICAL) is alike]
    return [
        _value_row(value) for value in sorted(values, key=lambda value: _RANKS[value.result] + value.varies)
    ]


_RANKS = {
    ValueResult.DIFFERENT: 0,
    ValueResult.UNKNOWN: 2,
    ValueResult.EQUAL: 4,
    ValueResult.MISSING: 6,
    ValueResult.IDENTICAL: 8,
}


def _value_row(value: ValueComparison) -> ValueRow:
    place = "" if not value.first_differing else f"at {value.first_differing}"
    return ValueRow(value=value, place=place, distance=distance_text(value), tolerance=_tolerance(value))


def _tolerance(value: ValueComparison) -> str:
    """Whether `torch.testing.assert_close` passes with default tolerances, and which ones would pass."""
    if value.result is not ValueResult.DIFFERENT or value.passes_default is None or not value.differing:
        return ""
    default = f"the default (rtol {value.default_rtol:g}, atol {value.default_atol:g})"
    if value.passes_default:
        return f"passes {default}"
    limits = (("rtol", value.smallest_rtol), ("atol", value.smallest_atol))
    smallest = [f"{name} {tolerance:.3g}" for name, tolerance in limits if tolerance is not None]
    return (
        f"fails {default}; passes from {' or from '.join(smallest)}"
        if smallest
        else f"fails {default}; no tolerance passes"
    )


def attempt_values(attempt: AttemptDetails) -> dict[str, Any]:
    """The values for the template of an attempt, most of them lazy."""
    values = [] if attempt.observation is None else attempt.observation.values[:MOST_CAPTURED]
    environment = {attempt.environment_digest or "": attempt.environment} if attempt.environment else {}
    return {
        "attempt": attempt,
        "captured": Lazy(lambda: [_captured_row(value) for value in values]),
        "environments": lazily(environment_views, environment),
    }


def _captured_row(value: CapturedValue) -> CapturedRow:
    return CapturedRow(value=value, text=value_text(value), statistics=_statistics(value))


def _statistics(value: CapturedValue) -> str:
    facts = value.statistics
    if facts is None or math.prod(value.shape) == 1:
        return ""
    named = (("least", facts.least), ("greatest", facts.greatest), ("mean", facts.mean))
    moments = [f"{name} {number:.6g}" for name, number in named if number is not None]
    counts = [
        f"{count} {name}"
        for name, count in (
            ("NaN", facts.nan),
            ("inf", facts.positive_infinite),
            ("-inf", facts.negative_infinite),
            ("zero", facts.zero),
        )
        if count
    ]
    return ", ".join((*moments, *counts))
