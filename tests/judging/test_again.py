"""The cells that are worth a rerun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.check.reach import NO_GPU, TOO_FEW_GPUS
from app.judging.judgement import Verdict
from app.judging.verdict.rerunnable import Which, is_rerunnable
from worker.contract import Reason, WhoCanAct

NO_NODE = Reason(code="no_node", who_can_act=WhoCanAct.OPERATOR)
TOO_LONG = Reason(code="time_limit", who_can_act=WhoCanAct.REPORTER)


@pytest.mark.parametrize(
    ("state", "verdict", "reason", "failed", "undecided"),
    [
        ("cancelled", None, None, True, True),
        ("judged", Verdict.NO_RESULT, None, True, True),
        ("judged", Verdict.CANNOT_SHOW, NO_NODE, True, True),
        ("judged", Verdict.CANNOT_SHOW, TOO_LONG, False, True),
        ("judged", Verdict.CANNOT_SHOW, NO_GPU, False, True),
        ("judged", Verdict.CANNOT_SHOW, TOO_FEW_GPUS, False, True),
        ("judged", Verdict.CANNOT_SHOW, None, False, True),
        ("judged", Verdict.REPRODUCED, None, False, False),
        ("judged", Verdict.NOT_REPRODUCED, None, False, False),
        ("judged", Verdict.FLAKY, None, False, False),
        ("judged", Verdict.DIFFERENT, None, False, False),
        ("judged", Verdict.OBSERVED, None, False, False),
    ],
)
def test_what_failed_and_what_is_undecided(
    state: str, verdict: Verdict | None, reason: Reason | None, *, failed: bool, undecided: bool
) -> None:
    found = {which: is_rerunnable(which, state=state, verdict=verdict, reason=reason) for which in Which}  # type: ignore[arg-type]
    assert found == {Which.FAILED: failed, Which.UNDECIDED: undecided, Which.ALL: True}


@given(
    st.sampled_from(["queued", "running", "judged", "cancelled"]),
    st.none() | st.sampled_from(list(Verdict)),
    st.none() | st.builds(Reason, code=st.just("x"), who_can_act=st.sampled_from(list(WhoCanAct))),
)
def test_failed_ones_are_undecided_ones_and_none_that_goes_on_is_either(
    state: str, verdict: Verdict | None, reason: Reason | None
) -> None:
    failed, undecided, every = (
        is_rerunnable(which, state=state, verdict=verdict, reason=reason) for which in Which
    )  # type: ignore[arg-type]
    assert failed <= undecided <= every
    assert every is (state in {"judged", "cancelled"})
