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
# What the script's own kernel gives proves nothing beside it, as nothing of a card does.
NEVER_PROVED = """
import torch
library = torch.library.Library("aten", "IMPL")
library.impl("neg", lambda x: 0 - x, "CPU")
x, total = torch.linspace(0, 1, 5), torch.zeros(5)
for _ in range(2500):
    total.add_(x.neg())
"""
BEYOND_THE_LIMITS = """
import torch
torch.ones(6_000_000).sin()
x = torch.linspace(0, 1, 5)
for _ in range(4100):
    x.sin()
torch.rand(5).fill_(1).cos()
torch.empty(5).sin()
"""


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
def test_all_that_is_recorded_is_asked_about(execute: Execute) -> None:
    trace = trace_of(execute(NEVER_PROVED, settings=TRACED))
    assert (trace.whole, trace.operations_seen, trace.answered) == (True, 5000, 5000)
    assert (trace.unexplained, trace.own) == (0, ["aten::neg"])


@pytest.mark.sandbox
def test_inputs_are_those_from_before_they_were_changed(execute: Execute) -> None:
    trace = trace_of(execute(BEFORE_IT_IS_CHANGED, settings=TRACED))
    assert (trace.unexplained, trace.unjudged, trace.answered) == (0, 0, trace.operations_seen)


@pytest.mark.sandbox
def test_what_comes_after_all_limits_is_counted(execute: Execute) -> None:
    """The first tensor is too large for the shadow. Memory that nobody wrote is still seen at the end."""
    trace = trace_of(execute(BEYOND_THE_LIMITS, settings=TRACED))
    assert trace.shadow is not None
    assert (trace.shadow.stopped_by, trace.whole) == ("bytes", False)
    # The first, those of the loop, and two of the last three lines: a draw and a fill compute nothing.
    assert trace.operations_seen == 1 + 4100 + 2
    assert trace.asked == 4000
    assert [read.name for read in trace.shadow.unwritten] == ["aten::sin"]
