"""Properties of judging claims of speed and of missing errors: total, blind to order, never a "no" beside
what was met.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from judging_builders import CPU, check, claim, result, script

from app.intake.claim.claims import CheckKind
from app.judging.check.speed import is_slower, judge_ratios, spread
from app.judging.judgement import CheckResult, Verdict
from app.judging.verdict.job import judge_job

RATIOS = st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=1, max_size=12)
FACTORS = st.none() | st.floats(min_value=1.01, max_value=1000)
OUTPUTS = st.lists(
    st.sampled_from(
        [
            "",
            "eager 1 s\ncompiled 2 s",
            "eager 2 s\ncompiled 1 s",
            "eager 1 s\ncompiled 1.05 s",
            "eager 1 s",
            "ValueError: x",
        ]
    ),
    max_size=8,
)
BOUNDED = settings(max_examples=100, deadline=None)


@BOUNDED
@given(RATIOS, FACTORS)
def test_the_order_of_ratios_says_nothing(ratios: list[float], factor: float | None) -> None:
    assert judge_ratios(spread(ratios), factor) is judge_ratios(spread(ratios[::-1]), factor)


@BOUNDED
@given(RATIOS, FACTORS)
def test_absent_only_where_no_attempt_met_it(ratios: list[float], factor: float | None) -> None:
    found = judge_ratios(spread(ratios), factor)
    single = {is_slower(ratio, factor) for ratio in ratios}
    if found is CheckResult.ABSENT:
        assert single == {CheckResult.ABSENT}
    if found is CheckResult.MET:
        assert single == {CheckResult.MET}


@BOUNDED
@given(RATIOS)
def test_both_sides_are_never_slower_at_once(ratios: list[float]) -> None:
    turned = [1 / ratio for ratio in ratios]
    assert [judge_ratios(spread(each), None) for each in (ratios, turned)] != [CheckResult.MET] * 2


@BOUNDED
@given(OUTPUTS, FACTORS, st.sampled_from([CheckKind.SLOWER, CheckKind.NO_ERROR]))
def test_a_no_never_stands_beside_what_was_met(
    outputs: list[str], factor: float | None, kind: CheckKind
) -> None:
    said = check(kind, sides=("compiled", "eager"), factor=factor, exception_type="ValueError")
    results = [result(text, attempt=f"a{at}") for at, text in enumerate(outputs)]
    judgement = judge_job(claim(said), script(), CPU, results)
    assert judge_job(claim(said), script(), CPU, results[::-1]) == judgement
    if judgement.verdict is Verdict.NOT_REPRODUCED:
        assert all(finding.result is not CheckResult.MET for finding in judgement.findings)
