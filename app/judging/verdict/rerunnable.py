"""The cells of a run to rerun: the failed ones, the undecided ones, or all."""

from __future__ import annotations

from enum import StrEnum

from app.judging.judgement import Verdict
from app.states import OPEN_STATES, JobState
from worker.contract import Reason, WhoCanAct


class Which(StrEnum):
    """A choice of cells. `undecided` includes the failed cells, `all` includes every ended cell."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    ALL = "all"


# Those who can act on lacks that may be gone now: a node that was away, a busy card, a toolchain not yet
# built.
_ON_OUR_SIDE = {WhoCanAct.OPERATOR, WhoCanAct.SERVICE}


def is_rerunnable(which: Which, *, state: JobState, verdict: Verdict | None, reason: Reason | None) -> bool:
    """Whether a cell belongs to the choice. A cell that waits or runs never does.

    A failed cell was cancelled, has no result, or found no node. An undecided cell failed, or could not show
    the claim for another reason. All other verdicts are decided, also `flaky` and `observed`: a rerun would
    give the same again.
    """
    if state in OPEN_STATES:
        return False
    if which is Which.ALL or state == "cancelled":
        return True
    if verdict is Verdict.CANNOT_SHOW:
        return which is Which.UNDECIDED or (reason is not None and reason.who_can_act in _ON_OUR_SIDE)
    return verdict is Verdict.NO_RESULT
