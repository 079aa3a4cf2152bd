"""The float64 shadow: beside the script, never in its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from worker.contract import Outcome, Result
from worker.contract.trace import Shadow

Execute = Callable[..., Result]
TRACED = {"trace": "on"}

# Draws, branches, views, writing in place, a fused step, backward, and comparisons.
SCRIPT = """
import torch
torch.manual_seed(0)
x = torch.randn(4096) + 1000
mine = (x * x).mean() - x.mean() ** 2
theirs = x.var(correction=0)
print(mine.item(), theirs.item())
assert not torch.equal(mine, theirs)
grid = x.clone().view(64, 64)
grid[3:5].mul_(1.1)
print(grid[:, 2])
last = grid[None, None].to(memory_format=torch.channels_last)
w = torch.randn(64, 4, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.1, foreach=True)
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.dropout((grid / 1000) @ w, 0.25).softmax(1).log().mean()
    if loss > -1000:
        loss.backward()
    optimizer.step()
print(loss.item())
with torch.inference_mode():
    half = torch.full((300,), 1e3).half()
    print((half * half).sum().item(), torch.fft.fft(x[:8].to(torch.complex64)).abs().sum().item())
largest, places, above = torch.empty(64), torch.empty(64, dtype=torch.long), torch.empty(64, dtype=torch.bool)
torch.max(grid, 1, out=(largest, places))
torch.gt(largest, 1002, out=above)
whole = torch.zeros(64, dtype=torch.int32).copy_(largest)
print(places.sum().item(), above.sum().item(), whole.sum().item())
double = x.double()
double += 0.1
double[1:] -= double[:-1] * 0.3
print(double.sum().item(), double.cumsum(0).add_(1 / 3).mean().item())
print((torch.tensor([0.1, 0.2, 0.7]) / 0.1).floor().sum().item())
print(sum(each.item() for each in x[:30]))
"""
OUT_OF_SIGHT = """
import torch
x = torch.linspace(0, 1, 5) * 0.1
x.numpy()[2] = 7.0
print(x.sum().item())
rest = torch.empty(4)
rest[:2] = 1
filled = torch.empty(3)
filled.numpy()[:] = 2.0
print((rest + 1).isnan().any(), filled.sum().item())
library = torch.library.Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
print(torch.ops.mine.twice(x).exp().sum().item())
print(torch.ones(1 << 23).sum().item(), x.mean().item())
"""


def shadow_of(result: Result) -> Shadow:
    assert result.outcome is Outcome.COMPLETED, result.observation.stderr
    trace = result.observation.trace
    assert trace is not None
    assert trace.shadow is not None
    return trace.shadow


@pytest.mark.sandbox
def test_what_is_shown_is_held_against_float64_and_the_script_runs_as_it_is(execute: Execute) -> None:
    plain, traced = execute(SCRIPT), execute(SCRIPT, settings=TRACED)
    assert plain.observation.stdout == traced.observation.stdout
    assert traced.observation.stderr == ""
    shadow = shadow_of(traced)
    trace = traced.observation.trace
    assert trace is not None
    # All that give numbers have digests; comparisons do not.
    assert trace.operations_seen * 0.8 < len(trace.steps) <= trace.operations_seen
    assert trace.kinds[int(trace.steps[0].split(":")[1])] == "aten::add(float32 4096)"
    values = {value.name: value for value in shadow.values}
    # The naive formula cancels: a hundred thousand units, all of them rounding, as the rounded steps show.
    naive, right = values["mine"], values["theirs"]
    assert naive.ulps is not None
    assert naive.ulps > 1e5
    assert right.ulps is not None
    assert right.ulps < 50
    assert (naive.outside, right.outside) == (0, 0)
    (compared,) = [each for each in shadow.compared if each.differing]
    assert compared.reference_gap is not None
    assert compared.gap is not None
    assert compared.reference_gap < 1e-6 < compared.gap
    # The table has followed views, backward and the optimizer: a few digits of float32 are lost, no more.
    assert values["w"].relative is not None
    assert 0 < values["w"].relative < 1e-4
    assert values["print[0]"].shape == [64]
    overflow = next(value for value in shadow.values if value.value == "inf")
    assert (overflow.reference, overflow.outside) == (3e8, 0)
    assert sum(value.outside for value in shadow.values) == 0
    assert (shadow.restart_count, shadow.stopped_at) == (0, None)
    assert [(decision.name, decision.elements) for decision in shadow.decisions] == [("aten::floor", 3)]
    # Not all are shown, but all were held against the reference. Every `empty` was written before its use.
    assert (shadow.omitted, shadow.unwritten) == (0, [])


@pytest.mark.sandbox
def test_what_leaves_sight_restarts_and_a_budget_ends_the_shadow_only(execute: Execute) -> None:
    shadow = shadow_of(execute(OUT_OF_SIGHT, settings=TRACED))
    assert [restart.why for restart in shadow.restarts] == [
        "an input changed out of sight",
        "not an operation of torch",
    ]
    assert (shadow.stopped_by, shadow.stopped_at) == ("bytes", shadow.stopped_at)
    assert shadow.stopped_at is not None
    assert [(read.name, read.elements) for read in shadow.unwritten] == [("aten::add", 2)]
    # What was shown before has its reference.
    assert [value.name for value in shadow.values][:2] == ["read[0]", "read[1]"]
    assert sum(value.outside for value in shadow.values) == 0


@pytest.mark.sandbox
def test_python_decides_by_numbers_that_rounding_may_change(execute: Execute) -> None:
    script = (
        "import torch\nx = torch.rand(301, generator=torch.Generator().manual_seed(1))\n"
        "one, other = x.cumsum(0)[-1], x.flip(0).cumsum(0)[-1]\n"
        "if one.item() > other.item() and x[0].item() < 2:\n    print(1)\n"
    )
    decisions = shadow_of(execute(script, settings=TRACED)).by_python
    assert [(decision.line, decision.why) for decision in decisions] == [(4, "near")]
