"""All shadows of a tensor in one call give what one call for each of them gives."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.toolchains import ToolchainStore

HARNESS = Path(__file__).parents[2] / "worker" / "harness"
# Answers each line: whether the operation was evaluated at once, and how far both ways are apart.
PROGRAM = """
import json, math, sys, torch
from pathlib import Path
from types import SimpleNamespace
torch.set_num_threads(1)
folder = Path(sys.argv[1])

def load(name, **names):
    module = type(sys)(name)
    vars(module).update(names)
    exec(compile((folder / (name + ".py")).read_text(), name, "exec"), vars(module))
    return module

def collect(values):
    for value in values:
        if isinstance(value, torch.Tensor): yield value
        elif isinstance(value, (list, tuple)): yield from collect(value)

shadow = load("shadow", tensors_of=collect, noise=load("noise"), literals=load("literals"))
together = load("together", shadow=shadow)
stand_ins = load("../check/stand_ins")
kinds = load("step_kinds", shadow=shadow, stand_ins=stand_ins)
whole = load("whole_numbers", shadow=shadow)
parts = {"together": together, "step_kinds": kinds, "whole_numbers": whole}
for name in ("../decisions/choices", "../decisions/flips", "formulas"):
    parts[name.split("/")[-1]] = load(name, shadow=shadow)
parts["decisions"] = load("../decisions/decisions", shadow=shadow, **parts)
steps = load("shadow_steps", shadow=shadow, **parts)

def tensor_of(value):
    if not isinstance(value, dict): return value
    if "dtype" in value: return getattr(torch, value["dtype"])
    generator = torch.Generator().manual_seed(value["seed"])
    shape = value["tensor"]
    shape = list(reversed(shape)) if value["turned"] else shape
    base = torch.randn(shape, generator=generator) * value["size"]
    base = base > 0 if value["kind"] == "bool" else base.to(getattr(torch, value["kind"]))
    return base.permute(list(reversed(range(base.dim())))) if value["turned"] else base

def begun(case):
    func = torch.ops.aten
    for part in (case["call"] + ".default").split(".")[:2]: func = getattr(func, part)
    args = [tensor_of(value) for value in case["args"]]
    kwargs = {name: tensor_of(value) for name, value in case["kwargs"].items()}
    follower = steps.Follower(shadow.Shadow(), SimpleNamespace(), lambda *_: False)
    known = SimpleNamespace(func=func, kind=kinds.Kind(func))
    step = shadow.Step(1, SimpleNamespace(known=known, args=args, kwargs=kwargs))
    return follower, follower._begin(step, list(collect([args, *kwargs.values()])))

for line in sys.stdin:
    case = json.loads(line)
    with torch.no_grad():
        (_, one), (follower, other) = begun(case), begun(case)
        rows, apart = None, None
        try:
            rows = together.evaluate(one, False)
        except Exception as error:
            apart = math.inf
            print(error, file=sys.stderr)
        if rows is not None:
            singly = [list(collect([follower._evaluate(other, copy)])) for copy in range(shadow.COPIES)]
            apart = 0.0
            for at, mine in enumerate(rows):
                theirs = torch.stack([each[at] for each in singly])
                assert mine.shape == theirs.shape, (mine.shape, theirs.shape)
                same = (mine == theirs) | (mine.isnan() & theirs.isnan())
                size = theirs.abs().nan_to_num(0, 0, 0).max() if theirs.numel() else torch.tensor(0.0)
                gap = torch.where(same, 0.0, (mine - theirs).abs()).nan_to_num(1e300, 1e300, 1e300)
                if gap.numel(): apart = max(apart, float(gap.max()) / max(float(size), 1e-300))
    print(json.dumps([rows is not None, apart]), flush=True)
"""
Ask = Callable[[dict[str, Any]], tuple[bool, float | None]]


@pytest.fixture(scope="module")
def ask(toolchains: Path, toolchain: str) -> Iterator[Ask]:
    """Puts one case to a process with torch, which all tests of this file share."""
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    with subprocess.Popen(
        [found.python, "-c", PROGRAM, HARNESS / "shadow"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        given_to, answers = process.stdin, process.stdout

        def put(case: dict[str, Any]) -> tuple[bool, float | None]:
            given_to.write(json.dumps(case) + "\n")
            given_to.flush()
            at_once, apart = json.loads(answers.readline())
            return at_once, apart

        yield put
        given_to.close()


def tensor(shape: list[int], seed: int = 0, *, kind: str = "float32", turned: bool = False) -> dict[str, Any]:
    return {"tensor": shape, "seed": seed, "kind": kind, "turned": turned, "size": 2.0}


SHAPES = st.lists(st.integers(1, 3), max_size=3)
KINDS = st.sampled_from(["float32", "float16", "bfloat16", "float64"])
SEEDS = st.integers(0, 1000)
NUMBERS = st.sampled_from([0.1, -2.5, 3, 0.0, 1e-3])
UNARY = (
    "neg", "abs", "relu", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh",
    "sin", "cos", "erf", "sign", "clone", "gelu", "silu", "exp_", "tanh_", "sqrt_", "neg_",
)  # fmt: skip
BINARY = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "pow.Tensor_Tensor",
    "add_.Tensor", "mul_.Tensor", "sub_.Tensor",
)  # fmt: skip
ONE_NUMBER = ("add.Tensor", "mul.Tensor", "mul_.Tensor", "clamp", "pow.Tensor_Scalar")
OF_THREE = ("addcmul", "addcdiv", "addcmul_")


@st.composite
def tensors(draw: st.DrawFn, shape: list[int], kind: str) -> dict[str, Any]:
    return tensor(shape, draw(SEEDS), kind=kind, turned=draw(st.booleans()))


@st.composite
def broadcast(draw: st.DrawFn, shape: list[int]) -> list[int]:
    """A shape that stretches to this one."""
    short = shape[draw(st.integers(0, len(shape))) :]
    return [1 if draw(st.booleans()) else length for length in short]


def case(call: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"call": call, "args": list(args), "kwargs": kwargs}


@st.composite
def elementwise(draw: st.DrawFn) -> dict[str, Any]:
    """An operation on the elements of one tensor, or of two."""
    kind, shape = draw(KINDS), draw(SHAPES)
    first = draw(tensors(shape, kind))
    if draw(st.booleans()):
        return case(draw(st.sampled_from(UNARY)), first)
    call = draw(st.sampled_from(BINARY))
    second = draw(tensors(draw(broadcast(shape)), kind))
    more = {"alpha": draw(NUMBERS)} if call.startswith(("add", "sub")) else {}
    return case(call, first, second, **more)


@st.composite
def with_numbers(draw: st.DrawFn) -> dict[str, Any]:
    """An operation on the elements of a tensor with a number of Python, or with two more tensors."""
    kind, shape = draw(KINDS), draw(SHAPES)
    first, number = draw(tensors(shape, kind)), draw(NUMBERS)
    call = draw(st.sampled_from((*ONE_NUMBER, "where.self", "masked_fill.Scalar", *OF_THREE)))
    if call in ONE_NUMBER:
        return case(call, first, number)
    if call == "where.self":
        return case(call, draw(tensors(shape, "bool")), first, draw(tensors(shape, kind)))
    if call == "masked_fill.Scalar":
        return case(call, first, draw(tensors(draw(broadcast(shape)), "bool")), number)
    return case(call, first, *(draw(tensors(draw(broadcast(shape)), kind)) for _ in range(2)), value=number)


@st.composite
def along(draw: st.DrawFn) -> dict[str, Any]:
    """A sum, a mean or a softmax."""
    kind, shape = draw(KINDS), draw(SHAPES)
    first = draw(tensors(shape, kind))
    axes = st.integers(-len(shape), len(shape) - 1) if shape else st.just(0)
    call = draw(st.sampled_from(["sum", "sum.dim_IntList", "mean.dim", "_softmax", "_log_softmax"]))
    if call == "sum":
        return case(call, first)
    if call.startswith("_"):
        return case(call, first, draw(axes), False)
    unique = draw(st.lists(axes, max_size=3, unique_by=lambda axis: axis % max(len(shape), 1)))
    return case(call, first, unique if shape else [], draw(st.booleans()))


@st.composite
def products(draw: st.DrawFn) -> dict[str, Any]:
    """A product of matrices."""
    kind = draw(KINDS)
    rows, inner, columns = (draw(st.integers(1, 3)) for _ in range(3))
    call = draw(st.sampled_from(["mm", "addmm", "bmm"]))
    batch = [2] if call == "bmm" else []
    both = draw(tensors([*batch, rows, inner], kind)), draw(tensors([*batch, inner, columns], kind))
    if call != "addmm":
        return case(call, *both)
    return case(call, draw(tensors(draw(st.sampled_from([[columns], [rows, columns], [1]])), kind)), *both)


@st.composite
def losses(draw: st.DrawFn) -> dict[str, Any]:
    """The squared loss, or its derivative."""
    kind, shape, reduction = draw(KINDS), draw(SHAPES), draw(st.integers(0, 2))
    both = draw(tensors(shape, kind)), draw(tensors(shape, kind))
    if draw(st.booleans()):
        return case("mse_loss", *both, reduction)
    return case("mse_loss_backward", tensor([] if reduction else shape, 1, kind=kind), *both, reduction)


CASES = st.one_of(elementwise(), with_numbers(), along(), products(), losses())


@given(asked=CASES)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_at_once_is_as_one_by_one(ask: Ask, asked: dict[str, Any]) -> None:
    _, apart = ask(asked)
    # Sums may be added in another order.
    assert apart is None or apart < 1e-12


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("mm", [tensor([2, 3]), tensor([3, 2])]),
        ("addmm", [tensor([2]), tensor([2, 3]), tensor([3, 2])]),
        ("add.Tensor", [tensor([2, 3]), tensor([3])]),
        ("mul_.Tensor", [tensor([2, 3]), 0.1]),
        ("sum.dim_IntList", [tensor([2, 3]), [0], True]),
        ("_softmax", [tensor([2, 3]), 1, False]),
        ("mse_loss", [tensor([4]), tensor([4], 1)]),
    ],
)
def test_what_a_training_loop_is_made_of_is_evaluated_at_once(ask: Ask, call: str, args: list[Any]) -> None:
    at_once, apart = ask(case(call, *args))
    assert at_once
    assert apart is not None
    assert apart < 1e-12
