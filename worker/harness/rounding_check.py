"""Says of operations of torch whether what they gave lies within what rounding can do. A process of its own, in which nothing is replaced.

Each is evaluated in float64 on the CPU, on the same inputs and on inputs moved by one unit in the last place of the type that the
script worked in. What lies within what those neighbours span, with a few units of the last place around it, is explained by rounding.
"""

import contextlib
import itertools
import json
import math
import sys
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch._decomp import decomposition_table
except ImportError:
    # Older than torch 2.
    decomposition_table = {}

NEIGHBOURS = 16
SECONDS = 30.0
# Around the span, in units of the last place: of a result by itself, and of the largest number that comes about on the way to it.
ULPS_OF_RESULT = 16
ULPS_OF_WAY = 64
WIDER = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), torch.float64),
    **dict.fromkeys((torch.complex64, torch.complex128), torch.complex128),
}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
# Sums of products, of which a card may cut the factors (TF32).
CONTRACTIONS = {
    "mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "dot", "vdot", "convolution", "_convolution", "convolution_backward", "linear",
    "addbmm", "addr", "matmul", "einsum", "cudnn_convolution", "mkldnn_convolution",
}  # fmt: skip
# One step of arithmetic: no larger number comes about on the way, so its rounding is that of the result.
SINGLE_STEPS = {
    "abs", "neg", "sign", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "floor", "ceil", "round", "trunc",
    "frac", "add", "sub", "mul", "div", "pow", "square", "maximum", "minimum", "where", "relu", "clamp", "lerp", "atan2", "hypot",
}  # fmt: skip
# More than one answer is right, or the right one is another in float64.
AMBIGUOUS = {
    "_linalg_svd", "svd", "_linalg_eigh", "linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "linalg_lu", "linalg_lu_factor_ex",
    "lu_unpack", "linalg_householder_product", "ormqr",
    "topk", "sort", "kthvalue", "median", "mode", "unique_dim", "_unique2", "linalg_lstsq",
    "nan_to_num", "nextafter", "fmod", "remainder",
}  # fmt: skip
# Outputs that are results; of all others only the first, since the rest serve a later step.
RESULTS = {
    "_linalg_slogdet": 2,
    "var_mean": 2,
    "std_mean": 2,
    "convolution_backward": 3,
    "native_layer_norm_backward": 3,
}
TF32_BITS = 10
# Of each kind that is told in full.
TOLD = 6


def base_name(name):
    return name.split("::", 1)[1]


def mapped(value, change, of_number=None):
    if of_number is not None and isinstance(value, float):
        return of_number(value)
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [mapped(one, change, of_number) for one in value]
    return value


def widened(value):
    value = mapped(value, lambda tensor: tensor.to(WIDER.get(tensor.dtype, tensor.dtype), copy=True))
    return WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def moved(value, dtype, generator):
    """By one unit in the last place, up or down; a number of the script's, too: torch keeps it in the type that it works in."""

    def move(tensor):
        if tensor.is_complex():
            return torch.view_as_complex(move(torch.view_as_real(tensor)))
        if not tensor.is_floating_point():
            return tensor.clone()
        up = torch.rand(tensor.shape, generator=generator) < 0.5
        if tensor.dtype in (torch.float16, torch.bfloat16):
            # nextafter knows no halves everywhere: their neighbours are those of their bits.
            bits = tensor.view(torch.int16)
            away = (bits >= 0) == up
            return torch.where(
                tensor == 0, tensor, (bits + torch.where(away, 1, -1).to(torch.int16)).view(tensor.dtype)
            )
        limit = torch.where(up, torch.full_like(tensor, math.inf), torch.full_like(tensor, -math.inf))
        # An exact zero is a zero of the script's, and stays one.
        return torch.where(torch.isfinite(tensor) & (tensor != 0), torch.nextafter(tensor, limit), tensor)

    def move_number(number):
        return float(move(torch.tensor(number, dtype=dtype))) if dtype.is_floating_point else number

    return mapped(value, move, move_number)


def operation_of(question):
    operation = getattr(torch.ops.aten, base_name(question["name"]))
    return (
        operation
        if question["overload"].endswith("out")
        else getattr(operation, question["overload"] or "default")
    )


def results(question, change, operation=None):
    """The outputs that count, evaluated on changed inputs."""
    operation = operation or operation_of(question)
    args = change(question["side"]["args"])
    out = operation(
        *args,
        **{name: change(value) for name, value in question["side"]["kwargs"].items() if value is not None},
    )
    # Some change their first argument and give nothing.
    out = args[0] if out is None else out
    outputs = [
        one for one in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(one, torch.Tensor)
    ]
    return [flat(one) for one in outputs[: how_many(question["name"])]]


class RoundedSteps(TorchDispatchMode):
    """Every step of what is evaluated in it is rounded, up or down, by up to one unit in the last place of a type."""

    def __init__(self, eps, generator):
        super().__init__()
        self.eps = eps
        self.generator = generator

    def __torch_dispatch__(self, step, _types, args=(), kwargs=None):
        return mapped(step(*args, **(kwargs or {})), self.rounded)

    def rounded(self, tensor):
        if not tensor.is_floating_point():
            return tensor
        part = torch.rand(tensor.shape, generator=self.generator, dtype=tensor.dtype)
        return tensor * (1 + self.eps * (2 * part - 1))


def by_steps(question, shapes):
    """What torch's own formula gives where each of its steps is rounded: what cancels on the way can't be seen from the inputs.

    Nothing where torch has no formula for it.
    """
    formula = decomposition_table.get(operation_of(question))
    if formula is None or is_single_step(question):
        return
    first = question["side"]["out"][0].dtype
    generator = torch.Generator().manual_seed(0)
    for _ in range(NEIGHBOURS):
        try:
            with RoundedSteps(torch.finfo(REAL.get(first, first)).eps, generator):
                found = results(question, widened, formula)
        except Exception:
            # Of what its formula can't do nothing is known beside what the inputs tell.
            return
        if [one.shape for one in found] != shapes:
            return
        yield found


def how_many(name):
    return None if base_name(name).startswith(("_foreach_", "_fused_")) else RESULTS.get(base_name(name), 1)


def flat(tensor):
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return tensor.detach().reshape(-1).double()


def magnitude(question, tensors):
    """How large the numbers on the way to a result may get, as in a sum whose terms cancel: the same on the absolute values.

    None of a single step. Raise where it can't be told: then nothing is said of the operation.
    """
    if is_single_step(question):
        return None

    def absolute(value):
        return mapped(
            widened(value),
            lambda tensor: (
                tensor.abs().to(tensor.dtype) if tensor.is_floating_point() or tensor.is_complex() else tensor
            ),
        )

    sums = [one.abs() for one in results(question, absolute)]
    if [one.shape for one in sums] != [one.shape for one in tensors]:
        raise ValueError("not the shapes of the results")
    return sums


def may_be_cut(question):
    """Whether a card was allowed to cut the factors."""
    side = question["side"]
    return (
        side["tf32"] and base_name(question["name"]) in CONTRACTIONS and side["out"][0].dtype == torch.float32
    )


def judged(question):
    """Facts of one side of one operation, or None where nothing can be said."""
    if base_name(question["name"]).rstrip("_") in AMBIGUOUS:
        return None
    given = question["side"]["out"]
    reference = results(question, widened)
    outputs = [flat(one) for one in given[: len(reference)]]
    if [one.shape for one in outputs] != [one.shape for one in reference]:
        return None
    kind = torch.finfo(REAL.get(given[0].dtype, given[0].dtype))
    sums = magnitude(question, reference)
    facts = {"explained": True, "reduced": False, "error": 0.0, "ulps": 0.0, "span": 0.0, "worst": None}
    for at, (one, spanned) in enumerate(zip(outputs, spans_of(question, reference))):
        within = is_within(
            one, reference[at], spanned, None if sums is None else sums[at], given[0].dtype, kind
        )
        add_facts(facts, one, reference[at], within, kind)
        if one.numel():
            facts["span"] = max(facts["span"], float(width(*spanned[:2]).max()))
    if not facts["explained"] and may_be_cut(question) and sums is not None:
        cut = 2.0**-TF32_BITS
        if all(
            bool(((one - ref).abs() <= 2 * cut * total + kind.tiny).all())
            for one, ref, total in zip(outputs, reference, sums)
        ):
            facts["explained"] = facts["reduced"] = True
    return facts


def spans_of(question, reference):
    """Of each output the least and the greatest that neighbours give, and where one of them is no number."""
    spans = [(one.clone(), one.clone(), torch.isnan(one)) for one in reference]
    for found in itertools.chain(neighbours(question), by_steps(question, [one.shape for one in reference])):
        spans = [
            (torch.fmin(low, one), torch.fmax(high, one), undefined | torch.isnan(one))
            for (low, high, undefined), one in zip(spans, found)
        ]
    return spans


def width(low, high):
    return torch.where(torch.isfinite(low) & torch.isfinite(high), high - low, torch.zeros_like(low))


def is_within(one, reference, spanned, sums, dtype, kind):  # noqa: PLR0917
    """Where a result lies in the span, with as much around it as rounding may add."""
    low, high, undefined = spanned
    largest = torch.fmax(finite(low).abs(), finite(high).abs())
    around = kind.eps * ULPS_OF_RESULT * largest + kind.tiny
    if (dtype.is_complex or kind.eps > torch.finfo(torch.float32).eps) and largest.numel():
        # Of what is small beside its neighbours few kernels of these types keep the digits.
        around = torch.fmax(around, kind.eps * largest.max())
    if sums is not None:
        around = torch.fmax(around, kind.eps * ULPS_OF_WAY * finite(sums))
    around = around + width(low, high)
    within = (one >= in_range(low - around, kind)) & (one <= in_range(high + around, kind)) | (
        torch.isnan(one) & undefined
    )
    if dtype.is_complex:
        # Which part of an overflow is infinite and which is no number is nobody's promise.
        within |= ~torch.isfinite(one) | ~torch.isfinite(reference)
    return within


def cloned(value):
    return mapped(value, lambda tensor: tensor.clone())


def neighbours(question):
    """What it gives on inputs that are moved a little; and, by its own rounding, on those that are not."""
    generator = torch.Generator().manual_seed(0)
    dtype = question["side"]["out"][0].dtype
    for _ in range(NEIGHBOURS):
        yield results(question, lambda value: widened(moved(value, dtype, generator)))
    if question["side"]["side"] == "cpu" and is_single_step(question):
        # By the kernel that is in question: it would explain itself.
        return
    with default_dtype(question["side"]["default"]):
        yield results(question, cloned)


@contextlib.contextmanager
def default_dtype(dtype):
    """What whole numbers become where fractions are asked for."""
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float64)


def is_single_step(question):
    return base_name(question["name"]).rstrip("_") in SINGLE_STEPS


def finite(tensor):
    return torch.where(torch.isfinite(tensor), tensor, torch.zeros_like(tensor))


def in_range(bound, kind):
    """What is beyond the type's range is infinite in it."""
    bound = torch.where(bound < -kind.max, torch.full_like(bound, -math.inf), bound)
    return torch.where(bound > kind.max, torch.full_like(bound, math.inf), bound)


def add_facts(facts, one, reference, within, kind):
    if not one.numel():
        return
    error = torch.where(one == reference, torch.zeros_like(one), (one - reference).abs())
    measured = finite(error)
    unit = kind.eps * torch.fmax(reference.abs(), torch.full_like(reference, kind.tiny))
    facts["error"] = max(facts["error"], float(measured.max()))
    facts["ulps"] = max(
        facts["ulps"],
        float(torch.where(torch.isfinite(reference), measured / unit, torch.zeros_like(measured)).max()),
    )
    facts["explained"] &= bool(within.all())
    if facts["worst"] is None or not bool(within.all()):
        outside = torch.where(within, torch.full_like(error, -1.0), error.nan_to_num(math.inf))
        worst = int((measured if bool(within.all()) else outside).argmax())
        facts["worst"] = [told(one[worst]), told(reference[worst])]


def told(number):
    """JSON has no infinities."""
    value = float(number)
    return value if math.isfinite(value) else repr(value)


def gap(one, other):
    """Between two sides: the largest difference, and that beside the largest number; None where one is no number and the other is."""
    one, other = flat(one), flat(other)
    if one.shape != other.shape:
        return None, None
    if not one.numel():
        return 0.0, 0.0
    equal = (one == other) | (torch.isnan(one) & torch.isnan(other))
    difference = torch.where(equal, torch.zeros_like(one), (one - other).abs())
    if not bool(torch.isfinite(difference).all()):
        return None, None
    most = float(difference.max())
    largest = float(torch.fmax(one.abs(), other.abs()).nan_to_num(0.0, 0.0, 0.0).max())
    return most, most / largest if largest else 0.0


def input_gap(question):
    """The largest relative gap between the inputs of the two sides; 0 where all are equal."""
    worst = 0.0
    one, other = (
        [tensor for tensor in every(side) if tensor.is_floating_point() or tensor.is_complex()]
        for side in question["sides"]
    )
    for mine, theirs in zip(one, other):
        relative = gap(mine, theirs)[1]
        if relative is None:
            return None
        worst = max(worst, relative)
    return worst


def every(side):
    found = []
    mapped([side["args"], list(side["kwargs"].values())], found.append)
    return found


def facts_of(question):
    first = question["sides"][0]["out"][0]
    facts = {
        "number": question["number"],
        "name": question["name"],
        "dtype": str(first.dtype),
        "shape": list(first.shape),
    }
    facts["inputs_agree"] = question["inputs_agree"]
    facts["sides"] = []
    for side in question["sides"]:
        try:
            found = judged({"name": question["name"], "overload": question["overload"], "side": side})
        except Exception:
            found = None
        facts["sides"].append({"side": side["side"], **(found or {"explained": None})})
    if len(question["sides"]) == 2:
        pairs = [
            gap(one, other)
            for one, other in zip(*(side["out"][: how_many(question["name"])] for side in question["sides"]))
        ]
        facts["gap"] = None if any(one[0] is None for one in pairs) else max(one[0] for one in pairs)
        facts["relative_gap"] = None if any(one[1] is None for one in pairs) else max(one[1] for one in pairs)
        facts["input_gap"] = input_gap(question)
    return facts


def amplifies(facts):
    """How much further apart the outputs of the two sides are than their inputs; the first that makes infinity of something before all."""
    if len(facts["sides"]) < 2:
        return 0.0
    if facts["relative_gap"] is None:
        return math.inf
    return facts["relative_gap"] / max(facts["input_gap"] or 0.0, 1e-30)


def chosen(all_facts):
    """Those that tell most: the first that differs, those that rounding does not explain, those that make much of little, the last."""
    apart = [facts for facts in all_facts if len(facts["sides"]) == 2]
    unexplained = [facts for facts in all_facts if any(side["explained"] is False for side in facts["sides"])]
    kept = apart[:1] + unexplained[:TOLD] + sorted(apart, key=amplifies, reverse=True)[:TOLD] + apart[-1:]
    return sorted({facts["number"]: facts for facts in kept}.values(), key=lambda facts: facts["number"])


def main(path):
    torch.set_num_threads(1)
    # The reference: whole numbers become float64, too.
    torch.set_default_dtype(torch.float64)
    end = time.monotonic() + SECONDS
    held = torch.load(path, map_location="cpu", weights_only=True)
    all_facts = []
    for question in held:
        if time.monotonic() > end:
            break
        all_facts.append(facts_of(question))
    sides = [side for facts in all_facts for side in facts["sides"]]
    counts = {
        "answered": len(all_facts),
        "unexplained": sum(side["explained"] is False for side in sides),
        "unjudged": sum(side["explained"] is None for side in sides),
        "reduced": sum(bool(side.get("reduced")) for side in sides),
    }
    print(json.dumps({**counts, "operations": chosen(all_facts)}, allow_nan=False))


main(sys.argv[1])
