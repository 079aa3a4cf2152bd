"""Notes integer arithmetic and casts that go beyond their type. `trace.py` loads it, with `shadow`."""

import torch

shadow = globals()["shadow"]
tensors_of, noise = shadow.tensors_of, shadow.noise.Noise()

# Bits that a script shifts and masks are meant to fall off; these are arithmetic.
ARITHMETIC = {
    "add", "sub", "rsub", "mul", "neg", "abs", "pow", "square", "sum", "prod", "cumsum", "cumprod", "mm",
    "bmm", "mv", "dot", "addmm", "addcmul", "_to_copy", "div", "reciprocal", "sqrt", "mean",
}  # fmt: skip
MOST_ELEMENTS = 1 << 20
MOST_NOTES = 5
# Beside the largest number there: float64 has no more digits.
SHARE = 1e-9


def before(step, inputs):
    """The result in float64, before the operation can change its inputs, and the size of its largest input.

    None if it is not asked for.
    """
    if step.kind.foreign or step.kind.base not in ARITHMETIC or not inputs:
        return None
    if any(each.is_floating_point() or each.is_complex() for each in inputs):
        return None
    if all(each.dtype is torch.bool for each in inputs) or sum(map(torch.numel, inputs)) > MOST_ELEMENTS:
        return None
    if step.kind.name == "_to_copy" and step.kwargs.get("dtype") in (None, torch.bool):
        return None
    out = step.kwargs.get("out")
    kwargs = {name: widen(value) for name, value in step.kwargs.items() if name != "out"}
    if step.kind.only_writes or out is not None:
        return None
    (exact, *_) = tensors_of([step.func(*map(widen, step.args), **kwargs)])
    largest = max((float(each.double().abs().max()) for each in inputs if each.numel()), default=0.0)
    return exact, largest


def widen(value):
    """A copy in float64, also of a dtype that the call names."""
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64, copy=True)
    return torch.float64 if isinstance(value, torch.dtype) and value is not torch.bool else value


def note(table, step, result):
    """Note the elements that the integer type of the result does not hold."""
    exact, largest = step.exact
    if shadow.is_number(result) and not result.is_complex() and result.shape == exact.shape:
        begin_with(table, result, exact)
        return
    if result.is_floating_point() or result.shape != exact.shape or len(table.overflowed) >= MOST_NOTES:
        return
    allowed = 0.5 + SHARE * exact.abs().nan_to_num().clamp(min=largest)
    elements = int(((result.double() - exact).abs() > allowed).sum())
    if elements:
        table.overflowed.append({"number": step.number, "name": step.name, "elements": elements})


def begin_with(table, result, exact):
    """Begin the shadows of a result with what the integers give, if its type has too few digits for it."""
    mine = result.double()
    if torch.equal(mine, exact):
        return
    rows = table.begin(result).view(result)
    first, last = shadow.ROUNDED
    rows[:first] = exact
    rounded = noise.add_rounding(exact.expand(2, *exact.shape), exact.expand(2, *exact.shape), result.dtype)
    rows[first : last + 1] = torch.where(mine == exact, exact, rounded)


class Bits:
    """Notes numbers that come back from the bits of others: a script may have changed these as integers."""

    def __init__(self, table):
        self.table, self.are_taken = table, False

    def look(self, number, tensor, dtype):
        """Look at a view of a tensor as another type."""
        if not shadow.is_number(tensor):
            if dtype in shadow.WIDE and self.are_taken:
                self.table.restart(number, "aten::view", "not in float64")
        elif dtype in shadow.WIDE:
            if dtype is not tensor.dtype:
                self.table.restart(number, "aten::view", "not in float64")
        else:
            self.are_taken = True


def note_undefined(table, step, result):
    """Note a cast to integers of numbers that the type can't hold."""
    source = next(tensors_of([step.args]))
    if result.dtype is torch.bool or source.is_complex() or len(table.undefined) >= MOST_NOTES:
        return
    limits = torch.iinfo(result.dtype)
    values = source.double()
    # The upper limit of 64 bits is no float64; the number above it is one.
    elements = int((~((values >= limits.min) & (values < float(limits.max) + 1))).sum())
    if elements:
        table.undefined.append({"number": step.number, "name": step.name, "elements": elements})
