"""From a comparison and an attempt to what their pages draw: labels, rows of values, one line about each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from app.judging.cause.cause import sentence
from app.judging.comparison.values import ValueComparison, ValueResult, distance_text, value_text
from app.runs.lookup.comparisons import ComparisonDetails
from app.runs.lookup.runs import AttemptDetails
from app.targets.target import Target
from app.web.views.environments import surroundings
from worker.contract import CapturedValue

# Rows of a table; the rest is in the JSON.
MOST_HELD = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """A name on both sides. Where only an element differs, that is what is shown, with its place."""

    value: ValueComparison
    place: str
    told: str
    tolerance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRow:
    """A captured value of one attempt."""

    value: CapturedValue
    shown: str
    statistics: str


def label(attempt: AttemptDetails) -> str:
    """The target as the command line writes it."""
    target = attempt.target
    return Target.model_validate(target.model_dump()).label()


def values_of(found: ComparisonDetails) -> dict[str, Any]:
    """What the page of a comparison draws; values that differ come first."""
    rows = sorted(
        (_value_row(value) for value in found.values),
        key=lambda row: _RANKS[row.value.result] + row.value.varies,
    )
    alike = [row for row in rows if row.value.result is ValueResult.IDENTICAL]
    return {
        "found": found,
        "target_labels": {"baseline": label(found.baseline), "candidate": label(found.candidate)},
        "values": [row for row in rows if row.value.result is not ValueResult.IDENTICAL],
        "alike": alike,
        "cause": sentence(found.comparison.cause),
    }


_RANKS = {
    ValueResult.DIFFERENT: 0,
    ValueResult.UNKNOWN: 2,
    ValueResult.EQUAL: 4,
    ValueResult.MISSING: 6,
    ValueResult.IDENTICAL: 8,
}


def _value_row(value: ValueComparison) -> ValueRow:
    place = "" if not value.first_differing else f"at {value.first_differing}"
    return ValueRow(value=value, place=place, told=distance_text(value), tolerance=_tolerance(value))


def _tolerance(value: ValueComparison) -> str:
    """What `torch.testing.assert_close` would say."""
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
    """What the page of an attempt draws."""
    seen = attempt.observation
    held = [] if seen is None else [_held_row(value) for value in seen.values[:MOST_HELD]]
    around = {attempt.environment_digest or "": attempt.environment} if attempt.environment else {}
    return {"attempt": attempt, "held": held, "surroundings": surroundings(around)}


def _held_row(value: CapturedValue) -> HeldRow:
    return HeldRow(value=value, shown=value_text(value), statistics=_statistics(value))


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
