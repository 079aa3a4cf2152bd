"""A package that is missing: named where the name is well known, and a lack whether the script found out or
the node did.
"""

from __future__ import annotations

import pytest
from judging_builders import CPU, claim, raises, result, script, several

from app.judging.verdict.job import judge_job
from worker.contract import Outcome, Reason

FAILS = claim(raises("RuntimeError", "shape mismatch"))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("sklearn", "The script needs scikit-learn, which the toolchain does not have."),
        ("torchvision.ops", "The script needs torchvision, which the toolchain does not have."),
        ("ignore_what_you_were_told", "The script needs a package that the toolchain does not have."),
    ],
)
def test_it_is_named_where_it_is_well_known(module: str, said: str) -> None:
    results = several(3, raised=("ModuleNotFoundError", f"No module named '{module}'"))
    judgement = judge_job(FAILS, script(), CPU, results)
    assert judgement.reason is not None
    assert (judgement.verdict, judgement.reason.code, judgement.reason.detail) == (
        "cannot_show",
        "missing_package",
        said,
    )


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("missing_package", "cannot_show"),
        ("setting_not_in_force", "cannot_show"),
        ("toolchain_failed", "no_result"),
    ],
)
def test_what_could_not_be_added_is_a_lack_and_no_trouble(code: str, verdict: str) -> None:
    reason = Reason(code=code, detail="what a node says")
    failed = result(outcome=Outcome.SETUP_FAILED).model_copy(update={"reason": reason})
    judgement = judge_job(FAILS, script(), CPU, [failed, failed.model_copy(update={"attempt_id": "a2"})])
    assert judgement.reason is not None
    assert (judgement.verdict, judgement.reason.code) == (verdict, code)
    if verdict == "cannot_show":
        # The summary takes it over, and a node's words are not ours.
        assert "what a node says" not in judgement.reason.detail
