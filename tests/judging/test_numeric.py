"""The cause that a trace shows: rounding, amplified rounding, a defect, or none."""

from __future__ import annotations

from typing import Any

import pytest

from app.judging.cause.trace_verdict import cause_by_trace, first_difference, trace_sentences
from worker.contract.trace import Trace, TracedOperation, TracedSide

FINE = TracedSide(side="cpu", explained=True, error=3e-8, ulps=0.5, span=1e-7, worst=(1.0, 1.00000003))
ON_CARD = FINE.model_copy(update={"side": "cuda"})
WRONG = TracedSide(side="cpu", explained=False, error=1.98, ulps=1e7, span=3e-7, worst=(0.99, -0.99))


def operation(name: str = "aten::addmm", **changed: Any) -> TracedOperation:
    facts = {
        "number": 1,
        "name": name,
        "dtype": "torch.float32",
        "shape": [4, 16],
        "inputs_agree": True,
        "sides": [FINE, ON_CARD],
    }
    return TracedOperation.model_validate(
        {**facts, "gap": 6e-8, "relative_gap": 6e-8, "input_gap": 0.0, **changed}
    )


def trace(*operations: TracedOperation, **changed: Any) -> Trace:
    facts = {
        "operations_seen": 9,
        "pairs": 5,
        "asked": len(operations),
        "answered": len(operations),
        "whole": True,
    }
    return Trace.model_validate({**facts, "operations": operations, **changed})


SLOGDET = operation(
    "aten::_linalg_slogdet",
    number=5,
    shape=[],
    inputs_agree=False,
    gap=6.2,
    relative_gap=0.054,
    input_gap=1.4e-7,
)


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        (trace(operation()), "rounding"),
        (trace(operation(), SLOGDET), "ill_conditioned"),
        # One side infinite, the other not.
        (
            trace(operation(), SLOGDET.model_copy(update={"gap": None, "relative_gap": None})),
            "ill_conditioned",
        ),
        # Inputs that were far apart stay far apart: nothing was amplified.
        (trace(operation(), SLOGDET.model_copy(update={"input_gap": 0.01})), "rounding"),
        (trace(operation(relative_gap=0.02, dtype="torch.bfloat16")), "rounding"),
        (trace(operation(), reduced=1), "reduced_precision"),
        (trace(operation("aten::cos", sides=[WRONG]), pairs=0, unexplained=1), "unexplained"),
        # A defect is one, however much else could not be looked at.
        (
            trace(operation("aten::cos", sides=[WRONG, ON_CARD]), unexplained=1, whole=False, asked=9),
            "unexplained",
        ),
        (trace(operation(), whole=False), None),
        (trace(operation(), unjudged=1), None),
        (trace(operation(), asked=2), None),
        (trace(operation(sides=[FINE]), pairs=0), None),
        (trace(), None),
    ],
)
def test_causes(seen: Trace, cause: str | None) -> None:
    assert cause_by_trace(seen) == cause


def test_sentences() -> None:
    first, second, third = trace_sentences(trace(operation(), SLOGDET))
    assert first == "5 operations ran on the CPU and on the GPU; some gave different numbers."
    assert second.startswith(
        "Operation 1, aten::addmm (float32, 4×16) on equal inputs: 6e-08 apart; the CPU is within 3e-08 (0.5 ULP)"  # noqa: E501
    )
    assert third.startswith(
        "Operation 5, aten::_linalg_slogdet (float32, one number) on inputs that already differ amplified a small"  # noqa: E501
    )
    assert third.endswith("inputs 1.4e-07 apart (relative), results 0.054 apart (relative).")
    alone = operation("aten::cos", sides=[WRONG], inputs_agree=None, gap=None)
    (compared, wrong) = trace_sentences(trace(alone, pairs=0, unexplained=1))
    assert compared == "Compared with float64: 1 of 1 operation."
    assert (
        "the CPU gave 0.99 where float64 gives -0.99, and is further off than rounding of its inputs allows (3e-07)"  # noqa: E501
        in wrong
    )
    assert "there may be more differences" in trace_sentences(trace(operation(), whole=False))[-1]
    assert trace_sentences(trace()) == ["5 operations ran on the CPU and on the GPU; all gave the same bits."]


def test_what_is_unexplained_is_shown_before_what_is_first() -> None:
    wrong = operation("aten::cos", number=7, sides=[WRONG, ON_CARD])
    found = first_difference(trace(operation(), wrong, unexplained=1))
    assert found is not None
    assert found.number == 7
