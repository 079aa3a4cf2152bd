"""The findings of each check. Two checks may quote the same sentence: "prints 7 instead of 1.5"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import FindingPart, JobPart, RunDocument


def checks_of_job(checks: Sequence[CheckPart], job: JobPart) -> Iterator[tuple[CheckPart, FindingPart]]:
    """Each finding of a job with its check. Findings with the same words come in the order of the checks."""
    left = list(checks)
    for finding in job.checks:
        check = next((check for check in left if check.text == finding.text), None)
        if check is not None:
            left.remove(check)
            yield check, finding


def findings_of(run: RunDocument, number: int) -> list[tuple[JobPart, FindingPart]]:
    """The findings of a check, each with its job. `number` counts the checks of the claim from 0."""
    checks = run.report.claim.checks
    return [
        (job, finding)
        for job in run.jobs
        for check, finding in checks_of_job(checks, job)
        if check is checks[number]
    ]


def told_apart(checks: Sequence[CheckPart], check: CheckPart) -> str:
    """The number that a check asks for, where another check quotes the same words; else empty."""
    same = sum(other.text == check.text for other in checks)
    return check.number or "" if same > 1 else ""
