"""Values that a script shows in float64, which is the reference's own type: what may be said of them.

Their uncertainty is known, and no wider type tells their error. Where a script shows the same in a narrower
type beside them, the narrower kernels have checked those of float64.
"""

from __future__ import annotations

import re

from worker.contract.trace import Trace

DOUBLE = {"torch.float64", "torch.complex128"}
# One rounding at most, or sums: nothing in them depends on the type.
_BASIC = {
    f"aten::{name}"
    for name in ("add", "sub", "rsub", "mul", "div", "neg", "abs", "max", "min", "amax", "amin", "sum")
}
_KIND = re.compile(r"(aten::[a-zA-Z0-9_]+?)_?\((.*)\)?$")
_WIDE, _NARROW = re.compile(r"\b(?:float64|complex128)\b"), re.compile(r"\b(?:b?float16|float32|complex64)\b")


def is_checked_by_narrower_types(trace: Trace) -> bool:
    """Whether each operation that ran in float64 also ran, rightly, in a narrower type that is shown as well.

    The reference of the narrower operation is the kernel of float64. So that kernel is right, to the digits
    of the narrower type, and the numbers of float64 that are shown are no more than those of narrower ones.
    """
    if trace.shadow is None or trace.steps_omitted or trace.unexplained or trace.own or not trace.kinds:
        return False
    wide: set[str] = set()
    narrow: set[str] = set()
    for kind in trace.kinds:
        match = _KIND.match(kind)
        if match is None:
            return False
        wide |= {match[1]} if _WIDE.search(match[2]) else set()
        narrow |= {match[1]} if _NARROW.search(match[2]) and not _WIDE.search(match[2]) else set()
    values = [value for value in trace.shadow.values if value.name.endswith("]")]
    wider = sum(value.dtype in DOUBLE for value in values)
    both = any(
        compared.gap and all(side.dtype in DOUBLE for side in compared.sides)
        for compared in trace.shadow.compared
    )
    return bool(values) and 2 * wider <= len(values) and not both and wide <= narrow | _BASIC
