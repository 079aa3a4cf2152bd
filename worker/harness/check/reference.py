"""Evaluates an operation of torch again in float64: on its inputs, on their neighbours, with rounded steps.

`rounding_check.py` loads it. A *question* here is one side of one operation: a dict with `name`, `overload`
and `side`, where `side` is one of the question's `sides`. `worker/harness/__init__.py` describes the keys and
types. All results are lists of flat float64 tensors on the CPU, one for each output that counts.
"""

import contextlib
import itertools
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch._decomp import decomposition_table
except ImportError:
    # Torch before version 2 has none.
    decomposition_table = {}

# `rounding_check.py` puts the formulas for kernels without float64 here.
stand_ins = None
# Number of neighbouring inputs to evaluate.
NEIGHBOURS = 16
WIDER = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), torch.float64),
    **dict.fromkeys((torch.complex64, torch.complex128), torch.complex128),
}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
# One step of arithmetic: no intermediate value is larger than the result, so only the result is rounded.
SINGLE_STEPS = {
    "abs", "neg", "sign", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10",
    "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "sigmoid", "floor", "ceil", "round", "trunc", "frac", "add", "sub", "mul", "div", "pow",
    "square", "maximum", "minimum", "where", "relu", "clamp", "lerp", "atan2", "hypot",
}  # fmt: skip
SOLVES = (
    "linalg_solve",
    "linalg_inv",
    "linalg_det",
    "linalg_slogdet",
    "linalg_lstsq",
    "cholesky",
    "lu_solve",
)
# How many outputs are results. For other operations only
# the first output is one; the rest serve a later step.
RESULTS = {
    "_linalg_slogdet": 2,
    "var_mean": 2,
    "std_mean": 2,
    "convolution_backward": 3,
    "native_layer_norm_backward": 3,
}


# Torch's decompositions of these take memory by the square of the length.
SQUARE = {"cumsum", "cumprod", "logcumsumexp"}


def base_name(name):
    """The name without its namespace: "mm" for "aten::mm"."""
    return name.split("::", 1)[1]


def is_single_step(question):
    """Whether the operation is one step of arithmetic."""
    return base_name(question["name"]).rstrip("_") in SINGLE_STEPS


def count_results(name):
    """The number of outputs of the operation that are results; None if all are."""
    if base_name(name).startswith(("_foreach_", "_fused_")):
        return None
    return {**RESULTS, **stand_ins.RESULTS}.get(base_name(name), 1)


def map_tensors(value, change, change_number=None):
    """Apply `change` to each tensor in nested lists, and `change_number`, if given, to each Python float."""
    if change_number is not None and isinstance(value, float):
        return change_number(value)
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [map_tensors(item, change, change_number) for item in value]
    return value


def widen(value):
    """Copies in float64 or complex128; integers keep their dtype."""
    value = map_tensors(value, lambda tensor: tensor.to(WIDER.get(tensor.dtype, tensor.dtype), copy=True))
    return WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def copy_tensors(value):
    """Copies in the same dtype."""
    return map_tensors(value, lambda tensor: tensor.clone())


def perturb(value, dtype, generator):
    """Move each number by one unit in the last place, up or down at random; zeros and infinities stay.

    Python floats move as numbers of `dtype`: torch keeps them in the dtype that it computes in.
    """

    def move(tensor):
        if tensor.is_complex():
            return torch.view_as_complex(move(torch.view_as_real(tensor)))
        if not tensor.is_floating_point():
            return tensor.clone()
        up = torch.rand(tensor.shape, generator=generator) < 0.5
        if tensor.dtype in (torch.float16, torch.bfloat16):
            # Some versions have no nextafter for 16 bits: the neighbours are those of the bit pattern.
            bits = tensor.view(torch.int16)
            away = (bits >= 0) == up
            return torch.where(
                tensor == 0, tensor, (bits + torch.where(away, 1, -1).to(torch.int16)).view(tensor.dtype)
            )
        limit = torch.where(up, torch.full_like(tensor, math.inf), torch.full_like(tensor, -math.inf))
        # The script meant an exact zero, so it stays one.
        return torch.where(torch.isfinite(tensor) & (tensor != 0), torch.nextafter(tensor, limit), tensor)

    def move_number(number):
        return float(move(torch.tensor(number, dtype=dtype))) if dtype.is_floating_point else number

    return map_tensors(value, move, move_number)


def move_by_norm(value, dtype, generator):
    """Wide numbers, each moved at random by some units in the last place of the largest of its tensor."""
    unit = torch.finfo(REAL.get(dtype, dtype)).eps

    def move(tensor):
        if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
            return tensor
        part = torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
        # Elimination rounds each element once for each row above it.
        steps = max(1.0, math.sqrt(tensor.shape[-1]) / 2) if tensor.dim() else 1.0
        return tensor + unit * steps * tensor.abs().max() * (2 * part - 1)

    return map_tensors(value, move)


def operation_of(question):
    """The operation in `torch.ops.aten`, in the question's overload."""
    operation = getattr(torch.ops.aten, base_name(question["name"]))
    return (
        operation
        if question["overload"].endswith("out")
        else getattr(operation, question["overload"] or "default")
    )


def dtype_of(question):
    """The dtype in which the results were rounded: torch computes in that of its inputs, not of `out`."""
    dtype = question["side"]["out"][0].dtype
    inputs = [
        tensor.dtype
        for tensor in (value for value in question["side"]["args"] if isinstance(value, torch.Tensor))
        if tensor.dtype in WIDER
    ]
    if not question["overload"].endswith("out") or not inputs or dtype not in WIDER:
        return dtype
    widest = min(inputs, key=lambda each: torch.finfo(REAL.get(each, each)).eps)
    is_wider = torch.finfo(REAL.get(widest, widest)).eps > torch.finfo(REAL.get(dtype, dtype)).eps
    return widest if is_wider else dtype


def flatten(tensor):
    """A flat float64 tensor; a complex number becomes two elements."""
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.detach().reshape(-1).double()


def evaluate(question, change, operation=None):
    """The results on changed inputs. `change` gets the list of arguments and each keyword argument."""
    operation = operation or stand_ins.stand_in_of(operation_of(question)) or operation_of(question)
    args = change(question["side"]["args"])
    kwargs = {name: change(value) for name, value in question["side"]["kwargs"].items() if value is not None}
    if base_name(question["name"]).rstrip("_") == "nan_to_num":
        args, kwargs = stand_ins.with_limits(args, kwargs, question["side"]["out"][0].dtype)
    out = operation(*args, **kwargs)
    # Some operations change their first argument and return None.
    out = args[0] if out is None else out
    items = out if isinstance(out, (list, tuple)) else [out]
    outputs = [item for item in items if isinstance(item, torch.Tensor)]
    return [flatten(output) for output in outputs[: count_results(question["name"])]]


class RoundedSteps(TorchDispatchMode):
    """Multiplies each step's floating-point result by a random factor in 1 ± `eps`."""

    def __init__(self, eps, generator):
        super().__init__()
        self.eps = eps
        self.generator = generator

    def __torch_dispatch__(self, step, _types, args=(), kwargs=None):
        return map_tensors(step(*args, **(kwargs or {})), self.round)

    def round(self, tensor):
        """The tensor with each element rounded up or down by up to `eps`."""
        if not tensor.is_floating_point():
            return tensor
        part = torch.rand(tensor.shape, generator=self.generator, dtype=tensor.dtype)
        return tensor * (1 + self.eps * (2 * part - 1))


def evaluate_by_steps(question, shapes, eps=None):
    """Yield the results of torch's own decomposition with each step rounded.

    This shows a cancellation within the operation, which neighbouring inputs do not show. Yields nothing if
    torch has no decomposition, if it fails, or if its results have other shapes. `eps`: that of the dtype.
    """
    operation = operation_of(question)
    formulas = {**stand_ins.STAND_INS, **stand_ins.BY_STEPS}
    decomposition = stand_ins.stand_in_of(operation, formulas) or decomposition_table.get(operation)
    is_square = base_name(question["name"]).rstrip("_") in SQUARE
    if decomposition is None or is_square or is_single_step(question):
        return
    dtype = dtype_of(question)
    generator = torch.Generator().manual_seed(0)
    for _ in range(NEIGHBOURS):
        try:
            with RoundedSteps(eps or torch.finfo(REAL.get(dtype, dtype)).eps, generator):
                results = evaluate(question, widen, decomposition)
        except Exception:
            # The neighbouring inputs are then all there is to go by.
            return
        if [result.shape for result in results] != shapes:
            return
        yield results


def evaluate_neighbours(question):
    """Yield the results on perturbed inputs in float64, then on the inputs themselves in their own dtype.

    A stable solve gives the exact result of a matrix that is close by its norm, so there the inputs move by
    units of their largest element.
    """
    generator = torch.Generator().manual_seed(0)
    dtype = dtype_of(question)
    is_solve = base_name(question["name"]).lstrip("_").startswith(SOLVES)
    for _ in range(NEIGHBOURS):
        if is_solve:
            yield evaluate(question, lambda value: move_by_norm(widen(value), dtype, generator))
        else:
            yield evaluate(question, lambda value: widen(perturb(value, dtype, generator)))
    if question["side"]["side"] == "cpu" and is_single_step(question):
        # The same kernel would run here, and would confirm its own error.
        return
    with default_dtype(question["side"]["default"]):
        yield evaluate(question, copy_tensors)


@contextlib.contextmanager
def default_dtype(dtype):
    """Set torch's default dtype, to which integers convert, for a while; then float64 again."""
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float64)


def points_of(reference):
    """The spans of `spans_of` without any neighbours."""
    return [(output, output, torch.isnan(output)) for output in reference]


def spans_of(question, reference):
    """For each output: its least and greatest value over all neighbours, and where one of them is NaN."""
    spans = [(output.clone(), output.clone(), torch.isnan(output)) for output in reference]
    shapes = [output.shape for output in reference]
    for results in itertools.chain(evaluate_neighbours(question), evaluate_by_steps(question, shapes)):
        spans = [
            (torch.fmin(low, result), torch.fmax(high, result), undefined | torch.isnan(result))
            for (low, high, undefined), result in zip(spans, results)
        ]
    return spans


def magnitudes_of(question, reference):
    """A bound for the intermediate values, as in a sum whose terms cancel: the results on absolute inputs.

    None for a single step. Raises if the operation fails on absolute inputs or gives other shapes.
    """
    if is_single_step(question):
        return None

    def absolute(value):
        return map_tensors(
            widen(value),
            lambda tensor: (
                tensor.abs().to(tensor.dtype) if tensor.is_floating_point() or tensor.is_complex() else tensor
            ),
        )

    sums = [result.abs() for result in evaluate(question, absolute)]
    if [total.shape for total in sums] != [output.shape for output in reference]:
        raise ValueError("not the shapes of the results")
    return sums
