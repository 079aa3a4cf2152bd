"""Decides by the cause whether it is a defect. One table, and one order of causes: the first explains."""

from __future__ import annotations

from app.judging.judgement import Defect

# Nothing explains what was seen: the tests did not run, or none of them showed a cause.
NOT_ANALYSED = "not_analysed"
# In this order: if several causes are shown, the first one explains.
_TABLE = {
    "uninitialised_memory": Defect.YES,
    # Also of a kernel that the script itself registers: it is a defect, and `own_kernels` says whose.
    "unexplained": Defect.YES,
    "compiler_frontend": Defect.YES,
    "decomposition": Defect.YES,
    "code_generation": Defect.YES,
    "error_asymmetry": Defect.UNDECIDED,
    "rounding_before_a_decision": Defect.UNDECIDED,
    # `no` if torch documents the operation as nondeterministic.
    "nondeterministic_kernel": Defect.UNDECIDED,
    "random_streams": Defect.NO,
    # `no` if the claim is that repeats differ. Otherwise chance only chooses the input of what is claimed.
    "unseeded": Defect.UNDECIDED,
    "hash_order": Defect.UNDECIDED,
    "clock": Defect.UNDECIDED,
    "file_order": Defect.UNDECIDED,
    "thread_order": Defect.UNDECIDED,
    "system_entropy": Defect.UNDECIDED,
    "undefined_conversion": Defect.NO,
    "reduced_precision": Defect.NO,
    "ill_conditioned": Defect.NO,
    "sign_or_order": Defect.NO,
    "rounding": Defect.NO,
    "announced": Defect.NO,
    "api_removed": Defect.UNDECIDED,
    NOT_ANALYSED: Defect.UNDECIDED,
}
CAUSES = tuple(_TABLE)
# Sources of variation that a script brings along itself.
OF_THE_SCRIPT = frozenset({"unseeded", "hash_order", "clock", "file_order", "system_entropy"})
_WHY_UNDECIDED = {
    "error_asymmetry": "Only the maintainers can say which side is right to refuse.",
    "rounding_before_a_decision": "Rounding meets an exact decision. Only the maintainers can say whether "
    "the decision must not depend on it.",
    "nondeterministic_kernel": "The operation is not among those that torch documents as nondeterministic.",
    "thread_order": "Only the maintainers can say whether the result may depend on the number of threads.",
    "api_removed": "Nothing here shows whether the removal is meant.",
}
_CHANCE = "Chance decides when it happens. Nothing here shows whether it may happen at all."
_NOT_CURED = "No run held the source of variation still. So no test shows that the results agree then."


def order_of(cause: str) -> int:
    """The place of a cause: the smallest one explains."""
    return CAUSES.index(cause)


def defect_of(
    cause: str, *, documented: bool = False, about_repeats: bool = False, cured: bool = True
) -> Defect:
    """Whether a cause makes what was seen a defect.

    `documented`: torch documents the operation as nondeterministic. `about_repeats`: the claim is that
    repeats differ. `cured`: a test showed the cause, not only the text of the script.
    """
    if cause == "nondeterministic_kernel" and documented:
        return Defect.NO
    if cause in OF_THE_SCRIPT and about_repeats and cured:
        return Defect.NO
    return _TABLE[cause]


def missing_for(cause: str, *, cured: bool = True) -> tuple[str, ...]:
    """Sentences that say why it is not decided whether it is a defect. Empty if the table decides."""
    if cause in OF_THE_SCRIPT:
        return (_CHANCE,) if cured else (_NOT_CURED,)
    why = _WHY_UNDECIDED.get(cause)
    return () if why is None else (why,)
