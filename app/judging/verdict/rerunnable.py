"""Which cells of a run are worth running again: those that failed, those that decided nothing, or all."""

from __future__ import annotations

from enum import StrEnum

from app.judging.judgement import Verdict
from app.states import OPEN_STATES, JobState
from worker.contract import Reason, WhoCanAct


class Which(StrEnum):
    """Which cells: `failed` are in `undecided`, and those in `all`."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    ALL = "all"


# Whose lack may be gone by now: a node that was away, a card in use, a toolchain that was not built.
_OURS = {WhoCanAct.OPERATOR, WhoCanAct.SERVICE}


def is_wanted(which: Which, *, state: JobState, verdict: Verdict | None, reason: Reason | None) -> bool:
    """Whether a cell is one of these. A cell that waits or runs is none: it is still being decided.

    Failed: it was stopped, nothing that counts was recorded, or no node served it. Undecided: that, or it could not show the claim for any
    other reason. A cell with another verdict is decided, `flaky` and `observed` too: more of the same would say the same.
    """
    if state in OPEN_STATES:
        return False
    if which is Which.ALL or state == "cancelled":
        return True
    if verdict is Verdict.CANNOT_SHOW:
        return which is Which.UNDECIDED or (reason is not None and reason.who_can_act in _OURS)
    return verdict is Verdict.NO_RESULT
