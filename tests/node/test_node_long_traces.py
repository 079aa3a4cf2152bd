"""Traces of many operations: what the shadow has proved is counted, and the rest is asked about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from worker.contract import Outcome, Result
from worker.contract.trace import Trace

Execute = Callable[..., Result]
TRACED = {"trace": "on"}

LONG = """
import torch
x, total = torch.linspace(0, 1, 5), torch.zeros(5)
for _ in range(2100):
    total.add_(x.sin())
"""
WRONG_AT_LAST = (
    LONG
    + """
library = torch.library.Library("aten", "IMPL")
def bad(x):
    return torch.cos(x - torch.pi / 2) * 1.001
library.impl("sin", bad, "CPU")
x.sin()
"""
)
BEFORE_IT_IS_CHANGED = (
    LONG
    + """
y = torch.tensor([3.0, 4.0])
total = torch.linalg.vector_norm(y)
y.mul_(2)
z = torch.special.bessel_j0(y)
y.mul_(2)
print(z.tolist())
"""
)


def trace_of(result: Result) -> Trace:
    assert result.outcome is Outcome.COMPLETED, result.observation.stderr
    assert result.observation.trace is not None
    return result.observation.trace


@pytest.mark.sandbox
def test_a_long_loop_is_asked_about_to_its_end(execute: Execute) -> None:
    trace = trace_of(execute(LONG, settings=TRACED))
    assert (trace.whole, trace.operations_seen, trace.answered) == (True, 4200, 4200)
    assert len(trace.steps) == 1000
    assert trace.steps_omitted == 3200
    wrong = trace_of(execute(WRONG_AT_LAST, settings=TRACED))
    assert wrong.unexplained == 1
    assert [each.name for each in wrong.operations if each.sides[0].explained is False] == ["aten::sin"]


@pytest.mark.sandbox
def test_inputs_are_those_from_before_they_were_changed(execute: Execute) -> None:
    trace = trace_of(execute(BEFORE_IT_IS_CHANGED, settings=TRACED))
    assert (trace.unexplained, trace.unjudged, trace.answered) == (0, 0, trace.operations_seen)
