"""The facets of a claim: the several things that one report claims, each with a verdict of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.intake.claim.claims import Claim
from app.judging.judgement import FacetJudgement, JobJudgement, Verdict

# One that is live makes the verdict of all. Then comes what could not be tried.
_ORDER = (
    Verdict.REPRODUCED,
    Verdict.FLAKY,
    Verdict.DIFFERENT,
    Verdict.OBSERVED,
    Verdict.CANNOT_SHOW,
    Verdict.NO_RESULT,
    Verdict.NOT_REPRODUCED,
    Verdict.NEEDS_INFO,
)


def facets_of(claim: Claim) -> Mapping[str, Claim]:
    """The claim of each facet by its name, in the order of the report; empty for less than two.

    Checks without a facet are part of each.
    """
    names = dict.fromkeys(check.facet for check in claim.checks if check.facet is not None)
    if len(names) < 2:
        return {}
    return {
        name: claim.model_copy(
            update={
                "checks": tuple(
                    check.model_copy(update={"facet": None})
                    for check in claim.checks
                    if check.facet in {None, name}
                )
            }
        )
        for name in names
    }


def over_facets(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a report over its facets. Needs at least one."""
    return min(verdicts, key=_ORDER.index)


def judge_facets(facets: Mapping[str, Claim], judge: Callable[[Claim], JobJudgement]) -> JobJudgement:
    """The judgement of a job over all facets: that of the strongest one, with the verdicts of all."""
    judgements = {name: judge(claim) for name, claim in facets.items()}
    strongest = min(judgements.values(), key=lambda judgement: _ORDER.index(judgement.verdict))
    findings = dict.fromkeys(finding for judgement in judgements.values() for finding in judgement.findings)
    parts = tuple(
        FacetJudgement(
            name=name,
            verdict=judgement.verdict,
            reason=judgement.reason,
            matched=judgement.matched,
            of=judgement.of,
        )
        for name, judgement in judgements.items()
    )
    return strongest.model_copy(update={"findings": tuple(findings), "facets": parts})
