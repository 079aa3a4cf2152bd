"""Holds against the shadow what a script shows: what it prints, reads, compares and ends with.

`trace.py` loads it, with `shadow` among its globals. `ShownValue` and `ComparedValues` in
`worker.contract.trace` describe the facts.
"""

import collections
import functools
import math
import sys

import torch

shadow = globals()["shadow"]

# Methods by which a script takes the numbers out of a tensor. `item` is an operation of torch.
READS = ("tolist", "numpy")
# The first ones and the last ones of each kind.
FIRST, LAST = 16, 4
MOST_OUTSIDE = 8
MOST_ELEMENTS = 1 << 22
MOST_NAME = 80
# Rounding may move a result by so many units, and by this multiple of what it moved the shadows by.
UNITS, SPREADS = 16, 8
UNITS_OF_LARGEST = 4


class ShownValues:
    """The facts of what a script shows, by kind: "print", "read", "end" and "compared"."""

    def __init__(self, table, alike, numbers):
        self.table, self.alike, self.numbers = table, alike, numbers
        self.counts = collections.Counter()
        # Those that rounding doesn't explain are shown wherever they come.
        self.outside, self.omitted = collections.defaultdict(list), 0
        self.first, self.last = collections.defaultdict(list), {}
        # Knows the indices and truth values that rounding decides.
        self.flips = None

    def show(self, kind, number, tensor, views, name=None):
        """Note one value. `number` is that of the operation before it."""
        at = self.counts[kind]
        self.counts[kind] += 1
        if kind == "read":
            self.numbers.add(tensor, views)
        if tensor.numel() > MOST_ELEMENTS:
            self.omitted += 1
        if not tensor.numel() or tensor.numel() > MOST_ELEMENTS:
            return
        facts = {**facts_of(tensor, views), "free": self.table.is_free(tensor)}
        self.add(kind, at, facts, number, name)
        if kind != "end":
            self.alike.look(facts["name"], number, tensor, views)

    def compare(self, number, both, views):
        """Note a comparison of two tensors of one shape; `views`: the shadows of each."""
        at = self.counts["compared"]
        self.counts["compared"] += 1
        if both[0].numel() and both[0].numel() <= MOST_ELEMENTS and both[0].device == both[1].device:
            self.add("compared", at, facts_of_both(both, views), number)

    def add(self, kind, at, facts, number, name=None):
        """Store the facts of the value at this index of its kind."""
        facts.update(name=name or "%s[%d]" % (kind, at), number=number)
        last = self.last.setdefault(kind, collections.deque())
        (self.first[kind] if at < FIRST else last).append(facts)
        if len(last) <= LAST:
            return
        facts = last.popleft()
        if facts.get("outside") and len(self.outside[kind]) < MOST_OUTSIDE:
            self.outside[kind].append(facts)
        elif facts.get("outside") or kind == "compared":
            self.omitted += 1

    def show_tensor(self, kind, number, tensor, name=None):
        """Note a tensor of the script, if it is a plain one of floating-point or complex numbers."""
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return
        if not shadow.is_number(tensor):
            if kind != "end":
                self.flips.show(tensor)
            return
        tensor = tensor.detach()
        if shadow.is_dense(tensor):
            # A tensor that no operation gave has nothing to hold it against.
            self.show(kind, number, tensor, self.table.views(tensor), name)

    def watch_printing(self, printed, number):
        """Note each tensor that `printed` captures while the script formats it, under the same index.

        `number()` gives the number of the last operation.
        """
        capture = printed.capture

        def capture_and_show(value):
            before = len(printed.values)
            capture(value)
            if len(printed.values) > before:
                name = "print[%d]" % before
                with torch._C._DisableTorchDispatch():
                    self.table.run(number(), "printing", self.show_tensor, "print", number(), value, name)

        printed.capture = capture_and_show

    def watch_reading(self, number):
        """Note each tensor that the script turns into numbers of Python or numpy. `number` is as above."""

        def watch(name):
            read = getattr(torch.Tensor, name)

            def show_and_read(tensor, *args, **kwargs):
                # Formatting takes the numbers, too. Memory that no operation gave holds none yet.
                is_formatted = sys._getframe(1).f_globals.get("__name__") == "torch._tensor_str"
                if not is_formatted and (self.table.has(tensor) or self.flips.has(tensor)):
                    with torch._C._DisableTorchDispatch():
                        self.table.run(number(), "printing", self.show_tensor, "read", number(), tensor)
                return read(tensor, *args, **kwargs)

            setattr(torch.Tensor, name, functools.update_wrapper(show_and_read, read))

        for name in READS:
            watch(name)

    def end(self, number):
        """Note the tensors that the main module holds at the end."""
        for name, value in list(vars(sys.modules["__main__"]).items()):
            if type(name) is str and name.isidentifier() and name[0] != "_" and len(name) <= MOST_NAME:
                self.table.run(number, "the end", self.show_tensor, "end", number, value, name)

    def facts(self):
        """The keys `values`, `compared`, `omitted` and `alike` of the report's `shadow`."""
        rows = {kind: [*self.first[kind], *self.outside[kind], *self.last[kind]] for kind in self.last}
        compared = rows.pop("compared", [])
        values = [facts for kind in rows for facts in rows[kind]]
        facts = {"values": values, "compared": compared, "omitted": self.omitted, "alike": self.alike.pairs}
        return {**facts, "by_python": self.numbers.decisions()}


def word(value):
    """A number for JSON, or a word for what is not finite."""
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def size(value):
    """A finite distance, or None."""
    return float(value) if math.isfinite(value) else None


def spread(copies, reference, which):
    """The largest distance of some copies to the reference, for each element; infinite for NaN."""
    distances = [distance(copies[at], reference) for at in which]
    return torch.stack(distances).max(0)[0]


def with_typical(spreads, reference):
    """Spreads, none smaller than the typical share of its number: two copies may be close by chance."""
    shares = (spreads / reference.abs()).nan_to_num(0.0, 0.0, 0.0)
    typical = shares.median() if shares.numel() else 0.0
    return torch.maximum(spreads, typical * reference.abs().nan_to_num(0.0, 0.0, 0.0))


def distance(one, other):
    """The distance of each pair of elements: 0 for equal ones and for two NaN, infinite for one NaN."""
    equal = (one == other) | (torch.isnan(one) & torch.isnan(other))
    return torch.where(equal, torch.zeros_like(one), (one - other).abs()).nan_to_num(math.inf, math.inf)


def facts_of(tensor, views):
    """The facts of one value, at its worst element, and how many elements rounding does not allow."""
    dtype = tensor.dtype
    value = shadow.real_parts(tensor.detach()).reshape(-1).double().cpu()
    copies = [shadow.real_parts(view).reshape(-1).cpu() for view in views]
    reference = copies[shadow.REFERENCE]
    errors = distance(value, reference)
    units = shadow.unit_of(reference, dtype)
    moved, rounded = (spread(copies, reference, which) for which in (shadow.MOVED, shadow.ROUNDED))
    spreads = with_typical(torch.maximum(moved, rounded), reference)
    allowed = UNITS * units.nan_to_num(0.0) + SPREADS * spreads
    # Few kernels keep the digits of elements that are small beside the others.
    allowed = torch.maximum(allowed, UNITS_OF_LARGEST * units.nan_to_num(0.0).max())
    outside = ~(errors <= allowed)
    # Beyond the dtype's range there is only infinity.
    limit = torch.finfo(shadow.REAL.get(dtype, dtype)).max
    outside &= ~(torch.isinf(value) & (reference.abs() > limit))
    ulps = (errors / units).nan_to_num(math.inf, math.inf)
    ulps = torch.where(errors == 0, errors, ulps)
    # Not by `argmax`, for which a script may register a kernel.
    at = int((torch.where(outside, math.inf, ulps) if bool(outside.any()) else ulps).max(0)[1])
    largest = float(reference.nan_to_num(0.0, 0.0, 0.0).abs().max())
    error = float(errors[at])
    return {
        "dtype": str(dtype),
        "shape": list(tensor.shape),
        "value": word(float(value[at])),
        "reference": word(float(reference[at])),
        "error": size(error),
        "ulps": size(float(ulps[at])),
        "relative": size(float(errors.max()) / largest) if largest else None,
        "uncertainty": size(float(moved[at])),
        "rounding": size(float(rounded[at])),
        "outside": int(outside.sum()),
        "at": at,
    }


def facts_of_both(both, views):
    """The facts of a comparison, at the element where both sides are furthest apart."""
    values = [shadow.real_parts(tensor.detach()).reshape(-1).double().cpu() for tensor in both]
    copies = [[shadow.real_parts(view).reshape(-1).cpu() for view in each] for each in views]
    gaps = distance(*values)
    at = int(gaps.argmax())
    exact = distance(*(each[shadow.REFERENCE] for each in copies))
    # By the whole tensor: two copies may be close to one element by chance.
    steps = [
        with_typical(spread(each, each[shadow.REFERENCE], shadow.ROUNDED), each[shadow.REFERENCE])
        for each in copies
    ]
    sides = []
    for tensor, value, each, rounding in zip(both, values, copies, steps):
        reference = each[shadow.REFERENCE][at : at + 1]
        error = float(distance(value[at : at + 1], reference))
        unit = float(shadow.unit_of(reference, tensor.dtype))
        moved = max(float(distance(each[copy][at : at + 1], reference)) for copy in shadow.MOVED)
        sides.append(
            {
                "dtype": str(tensor.dtype),
                "value": word(float(value[at])),
                "reference": word(float(reference)),
                "error": size(error),
                "ulps": size(error / unit) if unit and math.isfinite(unit) else None,
                "uncertainty": size(moved),
                "rounding": size(float(rounding[at])),
            }
        )
    return {
        "shape": list(both[0].shape),
        "differing": int((gaps > 0).sum()),
        "gap": size(float(gaps[at])),
        "reference_gap": size(float(exact[at])),
        "largest_reference_gap": size(float(exact.max())),
        "sides": sides,
    }
