"""The table of causes: the first one explains, and makes it a defect or not."""

from __future__ import annotations

from app.judging.cause.cause import NOT_ANALYSED
from app.judging.judgement import Defect

# The first cause explains.
_TABLE = {
    "uninitialised_memory": Defect.YES,
    "unexplained": Defect.YES,
    "error_asymmetry": Defect.UNDECIDED,
    "rounding_before_a_decision": Defect.UNDECIDED,
    "nondeterministic_kernel": Defect.UNDECIDED,
    "random_streams": Defect.NO,
    "unseeded": Defect.UNDECIDED,
    "undefined_conversion": Defect.NO,
    "reduced_precision": Defect.NO,
    "ill_conditioned": Defect.NO,
    "sign_or_order": Defect.NO,
    "rounding": Defect.NO,
    NOT_ANALYSED: Defect.UNDECIDED,
}


def order_of(cause: str) -> int:
    """The place of a cause: the smallest one explains."""
    return list(_TABLE).index(cause) if cause in _TABLE else len(_TABLE)


def defect_of(cause: str) -> Defect:
    """Whether a cause makes what was seen a defect."""
    return _TABLE.get(cause, Defect.UNDECIDED)
