"""A reading that only a model has brings doubt, and no verdict."""

from __future__ import annotations

import pytest

from app.judging.judgement import JobJudgement, Verdict
from app.judging.verdict.agreement import with_doubt

VERDICTS = [Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT, Verdict.NOT_REPRODUCED, Verdict.CANNOT_SHOW]


def judgement(verdict: Verdict) -> JobJudgement:
    return JobJudgement(verdict=verdict, of=3)


@pytest.mark.parametrize("by_model", VERDICTS)
@pytest.mark.parametrize("rules", VERDICTS)
def test_it_never_makes_a_verdict_of_its_own(rules: Verdict, by_model: Verdict) -> None:
    after = with_doubt(judgement(rules), [judgement(by_model)])
    assert after.verdict in {rules, Verdict.OBSERVED}


@pytest.mark.parametrize(
    ("rules", "by_model", "verdict"),
    [
        (Verdict.NOT_REPRODUCED, Verdict.REPRODUCED, Verdict.OBSERVED),
        (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OBSERVED),
        (Verdict.FLAKY, Verdict.DIFFERENT, Verdict.OBSERVED),
        (Verdict.REPRODUCED, Verdict.FLAKY, Verdict.REPRODUCED),
        (Verdict.DIFFERENT, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT),
        (Verdict.CANNOT_SHOW, Verdict.REPRODUCED, Verdict.CANNOT_SHOW),
    ],
)
def test_doubt(rules: Verdict, by_model: Verdict, verdict: Verdict) -> None:
    assert with_doubt(judgement(rules), [judgement(by_model)]).verdict is verdict


def test_without_a_claim_of_the_rules_its_findings_are_in_sight() -> None:
    after = with_doubt(judgement(Verdict.OBSERVED), [judgement(Verdict.REPRODUCED)])
    assert after.reason is not None
    assert (after.verdict, after.reason.code) == (Verdict.OBSERVED, "model_reading")
