"""The verdict of a job over all readings of the report: a "no" needs that no reading was seen."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.check.reach import TWO_READINGS
from app.judging.judgement import SIGHTINGS, JobJudgement, Verdict

# Verdicts that another reading can put in doubt.
DOUBTFUL = frozenset({Verdict.NOT_REPRODUCED, Verdict.DIFFERENT})


def agree(first: JobJudgement, others: Sequence[JobJudgement]) -> JobJudgement:
    """The judgement of the first reading, unless another reading was seen where the first was not.

    Then the verdict is OBSERVED, and both findings are in sight.
    """
    if first.verdict not in DOUBTFUL:
        return first
    seen = next((other for other in others if other.verdict in SIGHTINGS), None)
    if seen is None:
        return first
    return JobJudgement(
        verdict=Verdict.OBSERVED,
        reason=TWO_READINGS,
        of=first.of,
        findings=(*first.findings, *seen.findings),
    )
