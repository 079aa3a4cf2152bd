"""Checks whether rounding explains what operations of torch gave.

A process of its own, in which nothing is patched.

Each operation is evaluated in float64 on the CPU, on the same inputs and on neighbouring inputs, one unit in
the last place of the script's dtype away. Rounding explains a result that lies between the neighbours'
results, with a margin of a few units in the last place.

The argument is a file with a list of *questions*, which `trace.py` wrote. The answer is one JSON object on
standard output. `worker/harness/__init__.py` describes both.
"""

import json
import math
import os
import sys
import time

import torch


def load(name):
    """A file beside this one as a module, independent of the script's environment variables."""
    module = type(sys)(name.partition(".")[0])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), vars(module))  # noqa: S102
    return module


reference = load("reference.py")
reference.stand_ins = load("stand_ins.py")
residuals = load("residuals.py")

SECONDS = 30.0
# The margin in units in the last place: of the result, and of the largest intermediate value.
ULPS_OF_RESULT = 16
ULPS_OF_INTERMEDIATE = 64
# Types of 16 bits are rounded once, after sums in float32. A unit of theirs is up to 1 %.
HALF_ULPS_OF_RESULT = 4
HALF_ULPS_OF_INTERMEDIATE = 8
# These add up in memory, in the type itself.
IN_MEMORY = {
    "index_add", "scatter_add", "scatter_reduce", "index_reduce", "index_put", "_index_put_impl", "put",
    "cumsum", "cumprod", "logcumsumexp", "embedding_dense_backward", "_embedding_bag_dense_backward",
}  # fmt: skip
# Sums of products, for which a card may shorten the factors (TF32).
CONTRACTIONS = {
    "mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "dot", "vdot", "convolution", "_convolution",
    "convolution_backward", "linear", "addbmm", "addr", "matmul", "einsum", "cudnn_convolution",
    "mkldnn_convolution", "_cudnn_rnn",
}  # fmt: skip
# Several answers are right, or the right answer in float64 is a different one.
AMBIGUOUS = {
    "_linalg_svd", "svd", "_linalg_eigh", "linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "linalg_lu",
    "linalg_lu_factor_ex", "lu_unpack", "linalg_householder_product", "ormqr",
    "mode", "unique_dim", "_unique2", "nextafter", "fmod", "remainder", "argmax", "argmin",
}  # fmt: skip
# Explicit mantissa bits.
TF32_BITS = 10
# Operations of each kind that the answer describes.
MOST_CHOSEN = 6


def may_use_tf32(question):
    """Whether a card was allowed to shorten the factors."""
    side = question["side"]
    return (
        side["tf32"]
        and reference.base_name(question["name"]) in CONTRACTIONS
        and side["out"][0].dtype == torch.float32
    )


def check_side(question, *, neighbours):
    """The facts of one side, or None if nothing can be said about the operation.

    Without `neighbours` only the result on the inputs themselves counts: what lies close to that lies between
    the neighbours' results, too. `question` has `name`, `overload` and `side`, one of the question's sides.
    The result has `explained`, `reduced`, `error`, `ulps`, `span` and `worst`, as in the answer. Raises if
    torch can't evaluate the operation.
    """
    name = reference.base_name(question["name"]).rstrip("_")
    if name in AMBIGUOUS:
        return residuals.check(name, question["side"])
    tensors = question["side"]["out"]
    exact = reference.evaluate(question, reference.widen)
    outputs = [reference.flatten(tensor) for tensor in tensors[: len(exact)]]
    if [output.shape for output in outputs] != [output.shape for output in exact]:
        return None
    dtype = reference.dtype_of(question)
    limits = torch.finfo(reference.REAL.get(dtype, dtype))
    units = units_of(name, limits)
    sums = reference.magnitudes_of(question, exact)
    facts = {"explained": True, "reduced": False, "error": 0.0, "ulps": 0.0, "span": 0.0, "worst": None}
    spans = reference.spans_of(question, exact) if neighbours else reference.points_of(exact)
    for at, (output, span) in enumerate(zip(outputs, spans)):
        total = None if sums is None else sums[at]
        within = is_within(output, exact[at], span, total, dtype, limits, units)
        add_facts(facts, output, exact[at], within, limits)
        if output.numel():
            facts["span"] = max(facts["span"], float(width(*span[:2]).max()))
    if neighbours and not facts["explained"] and may_use_tf32(question) and sums is not None:
        if is_shortened(question, outputs, exact, sums):
            facts["explained"] = facts["reduced"] = True
    return facts


def units_of(name, limits):
    """How many units of the result, and of the largest intermediate value, rounding may make."""
    if limits.eps <= torch.finfo(torch.float32).eps:
        return ULPS_OF_RESULT, ULPS_OF_INTERMEDIATE
    return HALF_ULPS_OF_RESULT, ULPS_OF_INTERMEDIATE if name in IN_MEMORY else HALF_ULPS_OF_INTERMEDIATE


def least(limits):
    """A distance that is nothing: what is below the normal numbers may be flushed, in float16 it is not."""
    return limits.tiny * (ULPS_OF_RESULT * limits.eps if limits.bits == 16 and limits.tiny > 1e-30 else 1)


def is_shortened(question, outputs, exact, sums):
    """Whether factors cut to TF32 explain the results. `sums`: the results on absolute inputs."""
    cut = 2.0**-TF32_BITS
    spreads = [2 * cut * total for total in sums]
    if reference.base_name(question["name"]) == "_cudnn_rnn":
        # No sum of products: each of its steps may lose as many bits.
        shapes = [right.shape for right in exact]
        spreads = [torch.zeros_like(right) for right in exact]
        for results in reference.evaluate_by_steps(question, shapes, cut):
            gaps = [(result - right).abs() for result, right in zip(results, exact)]
            spreads = [torch.fmax(spread, 2 * gap) for spread, gap in zip(spreads, gaps)]
    return all(
        bool(((output - right).abs() <= spread + torch.finfo(torch.float32).tiny).all())
        for output, right, spread in zip(outputs, exact, spreads)
    )


def width(low, high):
    """The width of each element's span; 0 where it is not finite."""
    return torch.where(torch.isfinite(low) & torch.isfinite(high), high - low, torch.zeros_like(low))


def is_within(output, exact, span, sums, dtype, limits, units):  # noqa: PLR0917
    """A bool tensor: which elements of the output lie in their span, with the margin that rounding may add.

    `units`: those of the result and of intermediate values that it may add. `output`, `exact`, `sums` and the
    three parts of `span` are flat float64 tensors of one length.
    """
    low, high, undefined = span
    largest = torch.fmax(finite(low).abs(), finite(high).abs())
    margin = limits.eps * units[0] * largest + least(limits)
    if (dtype.is_complex or limits.eps > torch.finfo(torch.float32).eps) and largest.numel():
        # Few kernels for these dtypes keep the digits of elements that are small beside the others.
        margin = torch.fmax(margin, limits.eps * largest.max())
    if sums is not None:
        margin = torch.fmax(margin, limits.eps * units[1] * finite(sums))
    margin = margin + width(low, high)
    within = (output >= in_range(low - margin, limits)) & (output <= in_range(high + margin, limits)) | (
        torch.isnan(output) & undefined
    )
    if dtype.is_complex:
        # After an overflow, no specification says which part is infinite and which is NaN.
        within |= ~torch.isfinite(output) | ~torch.isfinite(exact)
    return within


def finite(tensor):
    """The tensor with 0 for what is not finite."""
    return torch.where(torch.isfinite(tensor), tensor, torch.zeros_like(tensor))


def in_range(bound, limits):
    """The bound with infinity for what is beyond the dtype's range."""
    bound = torch.where(bound < -limits.max, torch.full_like(bound, -math.inf), bound)
    return torch.where(bound > limits.max, torch.full_like(bound, math.inf), bound)


def add_facts(facts, output, exact, within, limits):
    """Update the facts of a side with one more output."""
    if not output.numel():
        return
    error = torch.where(output == exact, torch.zeros_like(output), (output - exact).abs())
    finite_error = finite(error)
    unit = limits.eps * torch.fmax(exact.abs(), torch.full_like(exact, limits.tiny))
    ulps = torch.where(torch.isfinite(exact), finite_error / unit, torch.zeros_like(error))
    facts["error"] = max(facts["error"], float(finite_error.max()))
    facts["ulps"] = max(facts["ulps"], float(ulps.max()))
    facts["explained"] &= bool(within.all())
    if facts["worst"] is None or not bool(within.all()):
        outside = torch.where(within, torch.full_like(error, -1.0), error.nan_to_num(math.inf))
        worst = int((finite_error if bool(within.all()) else outside).argmax())
        facts["worst"] = [to_json_number(output[worst]), to_json_number(exact[worst])]


def to_json_number(number):
    """A float, or "inf", "-inf" or "nan", which JSON has no number for."""
    value = float(number)
    return value if math.isfinite(value) else repr(value)


def gap(one, other):
    """The largest difference between two tensors, and that divided by the largest number.

    Both are None if the shapes differ, or if an element is not finite on one side only.
    """
    one, other = reference.flatten(one), reference.flatten(other)
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
    """The largest relative gap between the inputs of the two sides; None where one can't be given."""
    worst = 0.0
    one, other = (
        [tensor for tensor in input_tensors(side) if tensor.is_floating_point() or tensor.is_complex()]
        for side in question["sides"]
    )
    for mine, theirs in zip(one, other):
        relative = gap(mine, theirs)[1]
        if relative is None:
            return None
        worst = max(worst, relative)
    return worst


def input_tensors(side):
    """All tensors among the arguments of a side."""
    tensors = []
    reference.map_tensors([side["args"], list(side["kwargs"].values())], tensors.append)
    return tensors


def is_explained(facts):
    """Whether the results of each side lie where they may."""
    return all(side["explained"] for side in facts["sides"])


def facts_of(question, *, neighbours=True):
    """One entry of the answer's `operations`, for one question."""
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
            one = {"name": question["name"], "overload": question["overload"], "side": side}
            result = check_side(one, neighbours=neighbours)
        except Exception:
            result = None
        facts["sides"].append({"side": side["side"], **(result or {"explained": None})})
    if len(question["sides"]) == 2:
        count = reference.count_results(question["name"])
        outputs = zip(*(side["out"][:count] for side in question["sides"]))
        gaps = [gap(one, other) for one, other in outputs]
        facts["gap"] = None if any(pair[0] is None for pair in gaps) else max(pair[0] for pair in gaps)
        facts["relative_gap"] = (
            None if any(pair[1] is None for pair in gaps) else max(pair[1] for pair in gaps)
        )
        facts["input_gap"] = input_gap(question)
    return facts


def amplification(facts):
    """The relative gap of the outputs over that of the inputs; infinite where only one side is finite."""
    if len(facts["sides"]) < 2:
        return 0.0
    if facts["relative_gap"] is None:
        return math.inf
    return facts["relative_gap"] / max(facts["input_gap"] or 0.0, 1e-30)


def choose(all_facts):
    """The most telling operations, in the script's order.

    These are the first and the last that differ between the sides, the first ones that rounding does not
    explain, and the ones that amplify a difference most.
    """
    pairs = [facts for facts in all_facts if len(facts["sides"]) == 2]
    unexplained = [facts for facts in all_facts if any(side["explained"] is False for side in facts["sides"])]
    amplifying = sorted(pairs, key=amplification, reverse=True)
    chosen = pairs[:1] + unexplained[:MOST_CHOSEN] + amplifying[:MOST_CHOSEN] + pairs[-1:]
    return sorted({facts["number"]: facts for facts in chosen}.values(), key=lambda facts: facts["number"])


def main(path):
    """Check the questions in the file, as many as fit into the time, and print the answer."""
    torch.set_num_threads(1)
    # The reference converts integers to float64, too.
    torch.set_default_dtype(torch.float64)
    end = time.monotonic() + SECONDS
    questions = torch.load(path, map_location="cpu", weights_only=True)
    all_facts = []
    for question in questions:
        if time.monotonic() > end:
            break
        facts = facts_of(question, neighbours=False)
        all_facts.append(facts if is_explained(facts) else facts_of(question, neighbours=True))
    chosen = choose(all_facts)
    by_number = {question["number"]: question for question in questions}
    for facts in filter(is_explained, chosen):
        if time.monotonic() < end:
            # The answer tells the width of the neighbours' results.
            facts.update(facts_of(by_number[facts["number"]], neighbours=True))
    sides = [side for facts in all_facts for side in facts["sides"]]
    counts = {
        "answered": len(all_facts),
        "unexplained": sum(side["explained"] is False for side in sides),
        "unjudged": sum(side["explained"] is None for side in sides),
        "reduced": sum(bool(side.get("reduced")) for side in sides),
    }
    print(json.dumps({**counts, "operations": chosen}, allow_nan=False))


main(sys.argv[1])
