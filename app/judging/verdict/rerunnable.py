"""The cells of a run to rerun: the failed ones, the undecided ones, or all."""

from __future__ import annotations

from enum import StrEnum

from app.judging.check.reach import NO_GPU, TOO_FEW_GPUS
from app.judging.judgement import Verdict
from app.states import OPEN_STATES, JobState
from worker.contract import Reason, WhoCanAct


class Which(StrEnum):
    """A choice of cells. `undecided` includes the failed cells, `all` includes every ended cell."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    ALL = "all"


# In a rerun, a target that names no GPU, or too few, has no more of them.
_OF_THE_TARGET = (NO_GPU, TOO_FEW_GPUS)
# Those who can act on lacks that may be gone now: a node that was away, a busy card, a toolchain not yet
# built.
_ON_OUR_SIDE = {WhoCanAct.OPERATOR, WhoCanAct.SERVICE}


def is_rerunnable(which: Which, *, state: JobState, verdict: Verdict | None, reason: Reason | None) -> bool:
    """Whether a cell belongs to the choice. A cell that waits or runs never does.

    A failed cell was cancelled, has no result, or found no node. An undecided cell failed, or could not show
    the claim for another reason, such as a target without a GPU. All other verdicts are decided, also `flaky`
    and `observed`: a rerun would give the same again.
    """
    if state in OPEN_STATES:
        return False
    if which is Which.ALL or state == "cancelled":
        return True
    if verdict is Verdict.CANNOT_SHOW:
        return which is Which.UNDECIDED or (reason is not None and _may_be_gone(reason))
    return verdict is Verdict.NO_RESULT


def is_lack_of_target(reason: Reason | None) -> bool:
    """Whether the target itself lacks what the script needs, so that a rerun gives the same again."""
    return reason in _OF_THE_TARGET


def _may_be_gone(reason: Reason) -> bool:
    return reason.who_can_act in _ON_OUR_SIDE and not is_lack_of_target(reason)
