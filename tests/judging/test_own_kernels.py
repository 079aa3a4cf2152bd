"""Wrong results of kernels that a script registers itself: they say nothing about torch."""

from __future__ import annotations

import pytest

from app.judging.cause.cause import sentence
from app.judging.cause.own_kernels import own_kernel_of, registered_kernels
from worker.contract.trace import Trace

LIBRARY = 'import torch\nlibrary = torch.library.Library("aten", "IMPL")\n'
FOR_CPU = LIBRARY + 'library.impl("cos", bad, "CPU")\n'
BOTH = frozenset({"cpu", "cuda"})
CPU, CUDA = frozenset({"cpu"}), frozenset({"cuda"})


@pytest.mark.parametrize(
    ("source", "registered"),
    [
        (FOR_CPU, {"aten::cos": CPU}),
        (LIBRARY + 'library.impl("cos.out", bad, "CUDA")\n', {"aten::cos": CUDA}),
        (LIBRARY + 'library.impl("cos", bad, dispatch_key="CPU")\n', {"aten::cos": CPU}),
        (LIBRARY + 'library.impl(torch.ops.aten.cos.default, bad, "CPU")\n', {"aten::cos": CPU}),
        (LIBRARY + 'library.impl("cos", bad, "CompositeImplicitAutograd")\n', {"aten::cos": BOTH}),
        (LIBRARY + '@torch.library.impl(library, "cos", "CPU")\ndef bad(x): ...\n', {"aten::cos": CPU}),
        ('@torch.library.impl("aten::cos", "cpu")\ndef bad(x): ...\n', {"aten::cos": CPU}),
        ('torch.library.register_kernel("aten::cos", "cuda", bad)\n', {"aten::cos": CUDA}),
        ('library: object = Library("aten", "IMPL", "CPU")\nlibrary.impl("sin", bad)\n', {"aten::sin": CPU}),
        (
            'with torch.library.Library("aten", "IMPL") as m:\n    m.impl("sin", bad, "CPU")\n    m.impl("sin", bad, "CUDA")\n',  # noqa: E501
            {"aten::sin": BOTH},
        ),
        # Operations of its own, another library, and what only looks alike.
        ('mine = torch.library.Library("mine", "DEF")\nmine.impl("cos", bad, "CPU")\n', {}),
        ('@torch.library.impl("mine::cos", "CPU")\ndef bad(x): ...\n', {}),
        ('runner.impl("cos", bad, "CPU")\n', {}),
        ("torch.cos(torch.ones(3))\n", {}),
        ("def (\n", {}),
    ],
)
def test_what_a_script_registers(source: str, registered: dict[str, frozenset[str]]) -> None:
    assert registered_kernels(source) == registered


def trace(*sides: tuple[str, str], own: tuple[str, ...] = (), unexplained: int | None = None) -> Trace:
    """A trace with these wrong (operation, side) pairs."""
    operations = [
        {"number": at, "name": name, "dtype": "torch.float32", "sides": [{"side": side, "explained": False}]}
        for at, (name, side) in enumerate(sides, 1)
    ]
    return Trace.model_validate(
        {
            "operations_seen": 9,
            "pairs": 0,
            "asked": 9,
            "answered": 9,
            "whole": True,
            "unexplained": len(sides) if unexplained is None else unexplained,
            "operations": operations,
            "own": list(own),
        }
    )


@pytest.mark.parametrize(
    ("seen", "source", "whose"),
    [
        (trace(("aten::cos", "cpu")), FOR_CPU, "aten::cos"),
        # Traces of today name the kernels themselves, also those that no reading of the script finds.
        (trace(("aten::cos", "cuda"), own=("aten::cos",)), "register(everything)\n", "aten::cos"),
        # It is registered for the CPU, and the GPU is wrong: that is torch.
        (trace(("aten::cos", "cuda"), own=("aten::cos",)), FOR_CPU, ""),
        (trace(("aten::cos", "cpu"), ("aten::sin", "cpu")), FOR_CPU, ""),
        # Not all that is wrong is listed.
        (trace(("aten::cos", "cpu"), unexplained=2), FOR_CPU, ""),
        (trace(("aten::cos", "cpu")), "torch.cos(x)\n", ""),
        (trace(), FOR_CPU, ""),
    ],
)
def test_whose_the_wrong_operation_is(seen: Trace, source: str, whose: str) -> None:
    assert own_kernel_of(seen, source) == whose


def test_the_sentence_says_that_it_is_not_torch() -> None:
    assert "that the script registers for aten::cos, not torch's own" in sentence("unexplained", "aten::cos")
    assert "script" not in sentence("unexplained")
