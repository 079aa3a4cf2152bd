"""Evaluates an operation on all shadows of its inputs at once. `trace.py` loads it, with `shadow`.

That is for operations that work element by element, products of matrices, and sums: most of a training loop.
The shadows of a tensor are the rows of one tensor, so one call gives what five calls would.
"""

import math

import torch

shadow = globals()["shadow"]
noise = shadow.noise
aten = torch.ops.aten

POINTWISE = {
    "add", "sub", "mul", "div", "neg", "abs", "relu", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt",
    "reciprocal", "sigmoid", "tanh", "sin", "cos", "erf", "pow", "where", "maximum", "minimum", "clone",
    "_to_copy", "copy", "zero", "threshold_backward", "tanh_backward", "sigmoid_backward", "addcmul",
    "addcdiv", "clamp", "clamp_min", "clamp_max", "masked_fill", "sign", "gelu", "gelu_backward", "silu",
    "silu_backward", "ones_like", "zeros_like",
}  # fmt: skip
# Their result is a term times a number that the call names.
FACTORS = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
# The argument with the dimension.
DIMENSION = {
    "_softmax": 1,
    "_log_softmax": 1,
    "_softmax_backward_data": 2,
    "_log_softmax_backward_data": 2,
}
MEAN = 1
# A result this close to float64 on the same inputs needs no further check: in units of itself, and of the sum
# of the absolute terms of a sum. `rounding_check.py` allows more, never less.
UNITS_OF_RESULT, UNITS_OF_TERMS = 16, 64
NEAREST = 2
# The same in types of 16 bits.
HALF_UNITS_OF_RESULT, HALF_UNITS_OF_TERMS = 4, 8
# In a larger tensor, only some of its rows are looked at first for results that are exact.
MOST_COMPARED, SAMPLES = 1024, 4
# Numbers of the script that come again, as `numbers_of` gives them.
NUMBERS, MOST_NUMBERS = {}, 100


class NotTogetherError(Exception):
    """The operation has to be evaluated once for each copy."""


def evaluate(step, written_integers):
    """The results, each with one row for each copy; None if they can't be computed at once.

    `written_integers`: whether the operation writes to what has no shadow.
    """
    name = step.kind.name
    base = name if name in DIMENSION else name.rstrip("_")
    if written_integers or (base not in POINTWISE and name not in SPECIAL and name not in DIMENSION):
        return None
    try:
        if base in POINTWISE:
            out = pointwise(step, base)
        elif name in DIMENSION:
            out = along_dimension(step, DIMENSION[name])
        else:
            out = SPECIAL[name](step)
    except NotTogetherError:
        return None
    except Exception:
        if step.written:
            raise
        # Such as a memory format that only tensors of four dimensions have.
        return None
    return list(shadow.tensors_of([out]))


def terms_of(step):
    """The sum of absolute terms of a sum or a product, with the script's own values; None if unknown."""
    action = SPECIAL.get(step.kind.name)
    if action not in (total, product, product_and_sum):
        return None
    views = step.views
    try:
        step.views = {key: rows[shadow.OWN :].abs() for key, rows in views.items()}
        result = action(step)[0]
    except NotTogetherError:
        return None
    finally:
        step.views = views
    return result if result.is_floating_point() else None


def rows_of(step, value, dimensions):
    """A tensor argument for all copies: its shadows, or itself, with leading dimensions of length 1."""
    if id(value) not in step.views:
        return value
    rows = step.views[id(value)]
    missing = dimensions - value.dim()
    return rows.reshape(len(rows), *([1] * missing), *value.shape) if missing else rows


def is_broken(value):
    """Whether it is a number of Python that each copy has for itself."""
    return isinstance(value, float) and shadow.is_broken(value)


def numbers_of(step, value, dimensions, device):
    """A number of Python for all copies: those that move the inputs move it, too."""
    key = (step.dtype, value, dimensions, device)
    numbers = NUMBERS.get(key)
    if numbers is None:
        unit = torch.finfo(shadow.REAL.get(step.dtype, step.dtype)).eps
        factors = torch.ones(shadow.COPIES, dtype=torch.float64, device=device)
        factors[shadow.MOVED[0]] += unit
        factors[shadow.MOVED[1]] -= unit
        if len(NUMBERS) > MOST_NUMBERS:
            NUMBERS.clear()
        numbers = NUMBERS[key] = (factors * value).reshape(-1, *([1] * dimensions))
    return numbers


def pointwise(step, base):
    """An operation that works element by element."""
    tensors = list(shadow.tensors_of([step.args, *step.kwargs.values()]))
    dimensions = max(tensor.dim() for tensor in tensors)
    device = tensors[0].device

    def translate(value, type_name):
        if isinstance(value, torch.Tensor):
            return rows_of(step, value, dimensions)
        if isinstance(value, (list, tuple)):
            raise NotTogetherError
        if isinstance(value, torch.dtype):
            return shadow.WIDE.get(value, value)
        if is_broken(value):
            if type_name != "Tensor":
                raise NotTogetherError
            return numbers_of(step, value, dimensions, device)
        return value

    kwargs = dict(step.kwargs)
    args = [translate(value, type_name) for value, type_name in zip(step.args, step.kind.types)]
    factor = kwargs.get(FACTORS.get(base))
    if is_broken(factor):
        del kwargs[FACTORS[base]]
        args[1] = args[1] * numbers_of(step, factor, dimensions, device)
    if step.written and args[0].dim() <= dimensions:
        raise NotTogetherError
    return step.func(*args, **{name: translate(value, "") for name, value in kwargs.items()})


def along_dimension(step, at):
    """An operation along a dimension, which counts from the end here."""
    (first, *others), rest = step.args[:at], step.args[at + 1 :]
    if not first.dim() or step.kwargs:
        raise NotTogetherError
    dimension = step.args[at] if step.args[at] < 0 else step.args[at] - first.dim()
    rows = [rows_of(step, each, first.dim()) for each in (first, *others)]
    return step.func(*rows, dimension, *[shadow.WIDE.get(value, value) for value in rest])


def total(step):
    """A sum or a mean."""
    first, *rest = step.args
    names = [argument.name for argument in step.func._schema.arguments][1:]
    named = {**dict(zip(names, rest)), **step.kwargs}
    dims = named.get("dim")
    dims = range(first.dim()) if dims is None or dims == [] else dims
    if not first.dim():
        raise NotTogetherError
    dims = [each if each < 0 else each - first.dim() for each in dims]
    operation = aten.sum.dim_IntList if step.kind.name == "sum" else aten.mean.dim
    return operation(step.views[id(first)], dims, bool(named.get("keepdim")))


def product(step):
    """A product of two matrices, or of stacks of them."""
    one, other = step.args
    return torch.matmul(step.views[id(one)], step.views[id(other)])


def product_and_sum(step):
    """A product of two matrices, plus a matrix or a row."""
    if step.kwargs or step.written:
        raise NotTogetherError
    term, one, other = step.args
    rows = rows_of(step, term, 2)
    return torch.baddbmm(rows, step.views[id(one)], step.views[id(other)])


def squared_loss(step):
    """The mean of squared differences."""
    one, other = step.args[:2]
    reduction = step.args[2] if len(step.args) > 2 else MEAN
    if reduction != MEAN or one.shape != other.shape or not one.dim() or step.kwargs:
        raise NotTogetherError
    squares = (step.views[id(one)] - step.views[id(other)]) ** 2
    return squares.flatten(1).mean(1)


def squared_loss_backward(step):
    """The derivative of the mean of squared differences."""
    grad, one, other, reduction = step.args
    if reduction != MEAN or one.shape != other.shape or grad.dim() or not one.dim() or step.kwargs:
        raise NotTogetherError
    rows = rows_of(step, grad, one.dim())
    return (step.views[id(one)] - step.views[id(other)]) * (2.0 / one.numel()) * rows


SPECIAL = {
    "sum": total,
    "mean": total,
    "mm": product,
    "bmm": product,
    "addmm": product_and_sum,
    "mse_loss": squared_loss,
    "mse_loss_backward": squared_loss_backward,
}


def dropout_of(args, out):
    """The first results of `native_dropout` on a shadow, with the elements that the script's draw left."""
    values, share, _train = args
    mask = out[1]
    return [values * mask / (1 - share) if share < 1 else values * 0, mask]


def move_far(copies):
    """The results of a solve; far apart, if roundings of the matrix move them by a tenth of their size.

    Nothing bounds what a stable solve gives there, and two copies may be close by chance.
    """
    reference = copies[shadow.REFERENCE]
    if not reference.numel() or not (reference.is_floating_point() or reference.is_complex()):
        return copies
    size = reference.abs().max()
    if not any(bool((copies[at] - reference).abs().max() > size / 10) for at in shadow.ROUNDED):
        return copies
    first, second = shadow.ROUNDED
    far = size / torch.finfo(torch.float32).eps
    return [
        reference + far if at == first else reference - far if at == second else copy
        for at, copy in enumerate(copies)
    ]


def is_close(step, mine, theirs, terms):
    """Whether a result of the script lies so close to float64 that rounding explains it without more tests.

    NEAREST if it has the nearest numbers of its type: IEEE 754 allows no others for a single step. `mine`
    is what float64 gives for it. Only on the CPU: a card's float64 may have the card's error.
    """
    if mine.shape != theirs.shape or theirs.dtype not in noise.EPSILON or theirs.device.type != "cpu":
        return False
    if terms is None and torch.equal(mine.to(theirs.dtype), theirs):
        # The nearest number of its type: that is so for most results of one step.
        return NEAREST
    limits = torch.finfo(theirs.dtype)
    is_half = limits.bits == 16
    if terms is not None and terms.shape == mine.shape and terms.is_floating_point():
        sizes, units = terms, HALF_UNITS_OF_TERMS if is_half else UNITS_OF_TERMS
    else:
        sizes, units = mine.abs(), HALF_UNITS_OF_RESULT if is_half else UNITS_OF_RESULT
    if not mine.numel():
        return True
    nothing = limits.tiny * (limits.eps if is_half else 1)
    return float((step.double(theirs) - mine).abs_().sub_(sizes, alpha=units * limits.eps).max()) <= nothing


def are_finite(results):
    """Whether all results are finite, for certain. One sum shows it."""
    return len(results) == 1 and results[0].is_floating_point() and math.isfinite(float(results[0].sum()))


def check_finite(step, exact, outputs):
    """Raise ValueError if float64 gives NaN for a number of the script: its kernel is no reference here."""
    if exact and not step.written and exact[0].is_floating_point() and len(exact) == 1:
        # One sum shows that there is no NaN.
        if not math.isnan(float(exact[0].sum())):
            return
    pairs = list(zip(exact, outputs))
    pairs += [
        (step.views[id(each)][shadow.REFERENCE], each) for each in step.written if id(each) in step.views
    ]
    for mine, theirs in pairs:
        if shadow.is_number(theirs) and mine.shape == theirs.shape:
            if bool((torch.isnan(mine) & torch.isfinite(theirs)).any()):
                raise ValueError("no number")


def share_of_rounding(step, exact, theirs, terms):
    """1 for each element that the step has rounded, and 0 for the others; None if it may have rounded all.

    `exact` is what float64 gives for the step on the script's own values: a number that has all of its digits
    in its type is exact, whatever machine computes it. A sum may come to such a number by chance: it is exact
    only if its terms are whole numbers.
    """
    if theirs.dtype is torch.float64 or exact.shape != theirs.shape or theirs.dtype not in noise.EPSILON:
        return None
    wide = step.double(theirs)
    if terms is None:
        if theirs.numel() > MOST_COMPARED:
            every = theirs.shape[0] // SAMPLES + 1
            if bool((exact[::every] != wide[::every]).all()):
                return None
        return exact != wide
    if not torch.equal(exact, wide) or step.kind.only_writes:
        return None
    numbers = [each for each in shadow.tensors_of([step.args]) if id(each) in step.views]
    own = (step.views[id(each)][shadow.OWN] for each in numbers)
    return None if any(bool((each != each.round()).any()) for each in own) else torch.zeros_like(exact)
