"""The verdict of a job over all readings of the report: a "no" needs that each reading says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check, Claim, Role
from app.judging.check.reach import MODEL_READING, POINT_UNKNOWN, TWO_READINGS
from app.judging.gone import oracles
from app.judging.judgement import SIGHTINGS, CheckResult, JobJudgement, Verdict
from app.judging.output.printed_numbers import numbers_in

# Verdicts that another reading can put in doubt.
DOUBTFUL = frozenset({Verdict.NOT_REPRODUCED, Verdict.DIFFERENT})
# A reading with one of these leaves no "no", the strongest first.
_AGAINST_NO = (Verdict.DIFFERENT, Verdict.CANNOT_SHOW, Verdict.OBSERVED, Verdict.NO_RESULT)
# The script ends with another error, by these oracles. That leaves a reading about an error as it is.
_ENDS_OTHERWISE = frozenset({None, oracles.RIGHT_ERROR, oracles.CLEAN_REFUSAL})


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the report, and its judgement."""

    claim: Claim
    judgement: JobJudgement


def agree(first: Reading, others: Sequence[Reading]) -> JobJudgement:
    """The judgement of the first reading, unless another reading puts it in doubt.

    If another one was seen where the first was not, the verdict is OBSERVED. A "no" beside another verdict
    has that verdict. The findings of both are in sight.
    """
    judgement = first.judgement
    if judgement.verdict not in DOUBTFUL:
        return judgement
    seen = next((other.judgement for other in others if other.judgement.verdict in SIGHTINGS), None)
    if seen is not None:
        return JobJudgement(
            verdict=Verdict.OBSERVED,
            reason=TWO_READINGS,
            of=judgement.of,
            findings=(*judgement.findings, *seen.findings),
        )
    is_gone = any(finding.oracle not in _ENDS_OTHERWISE for finding in judgement.findings)
    apart = [
        other.judgement
        for other in others
        if not _is_part(other.claim, first.claim) and not (is_gone and _is_of_other_code(other.claim))
    ]
    against = [other for verdict in _AGAINST_NO for other in apart if other.verdict is verdict]
    if is_gone:
        against = [other for other in against if other.verdict is Verdict.CANNOT_SHOW]
    if judgement.verdict is Verdict.DIFFERENT or not against:
        return judgement
    return against[0].model_copy(update={"findings": (*judgement.findings, *against[0].findings)})


def seen_likewise(judgement: JobJudgement, others: Iterable[JobJudgement]) -> JobJudgement:
    """The judgement of another reading that was seen, where the first one only says that no error comes.

    That no error comes shows little where nothing ties it to the script. Beside a claimed value it does.
    """
    is_met = any(finding.result is CheckResult.MET for finding in judgement.findings[:1])
    if judgement.reason != POINT_UNKNOWN or not is_met:
        return judgement
    seen = next((other for other in others if other.verdict in SIGHTINGS), None)
    if seen is None:
        return judgement
    return seen.model_copy(update={"findings": (*judgement.findings, *seen.findings)})


def with_doubt(judgement: JobJudgement, by_model: Sequence[JobJudgement]) -> JobJudgement:
    """The judgement of the rules' readings beside those of readings that only a model has.

    Such a reading can make it OBSERVED, with the findings of both, and nothing else.
    """
    if judgement.verdict is Verdict.OBSERVED and judgement.reason is None:
        findings = tuple(finding for other in by_model for finding in other.findings)
        return judgement.model_copy(
            update={"reason": MODEL_READING, "findings": (*judgement.findings, *findings)}
        )
    against = SIGHTINGS if judgement.verdict in DOUBTFUL else DOUBTFUL
    other = next((other for other in by_model if other.verdict in against), None)
    if other is None or judgement.verdict not in {*SIGHTINGS, *DOUBTFUL}:
        return judgement
    return JobJudgement(
        verdict=Verdict.OBSERVED,
        reason=TWO_READINGS,
        of=judgement.of,
        findings=(*judgement.findings, *other.findings),
    )


def _is_of_other_code(claim: Claim) -> bool:
    """Whether it is about what other code or another setting shows, which the script can't."""
    return all(check.where.mode == "other code" for check in claim.having(Role.BUG))


def _is_part(claim: Claim, first: Claim) -> bool:
    """Whether a reading names only numbers that the first one shows, as the nan of a printed table."""
    numbers = [_numbers(check) for check in claim.having(Role.BUG)]
    first_numbers = {number for check in first.having(Role.BUG) for number in _numbers(check)}
    return all(each and each <= first_numbers for each in numbers)


def _numbers(check: Check) -> set[str]:
    return {number.text for line in (*check.lines, check.number or "") for number in numbers_in(line)}
