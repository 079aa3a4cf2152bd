"""The parts of a report that its verdict does not settle: another device, or results that should vary.

A reader takes "as reported" for the whole report. So the sentence says which part is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, CheckResult, Verdict
from app.runs.run_object.answer.check_findings import checks_of_job
from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import JobPart, RunDocument

GPU_UNTESTED = "The part about a GPU was not tested."
NOTHING_VARIES = (
    "The script prints what the report shows, the same in every attempt."
    " Results that vary, as the report says, were not seen."
)
NEITHER = "Something else happens: neither what is reported nor what is expected."
_PRINTED = frozenset({"output", "value"})
_SPEAKS_OF_A_DEVICE = SIGHTINGS | {Verdict.NOT_REPRODUCED, Verdict.DIFFERENT}


def silent_words(run: RunDocument, verdict: Verdict) -> str:
    """The sentences about what the verdict leaves open; empty if there is nothing."""
    nothing_varies = verdict is Verdict.REPRODUCED and varies_elsewhere(run)
    return " ".join(filter(None, (NOTHING_VARIES if nothing_varies else "", gpu_words(run, verdict))))


def gpu_words(run: RunDocument, verdict: Verdict) -> str:
    """The sentence that the claim about a GPU was not tested; empty if it was, or if there is none."""
    if verdict not in _SPEAKS_OF_A_DEVICE or not any(_is_about_gpu(check) for check in _every_check(run)):
        return ""
    on_gpu = [job for job in run.jobs if job.target.device != "cpu"]
    # A cell that still runs may test it.
    may_be_tested = any(job.verdict is None or job.verdict not in INCONCLUSIVE for job in on_gpu)
    return "" if may_be_tested else GPU_UNTESTED


def varies_elsewhere(run: RunDocument) -> bool:
    """Whether only the shown output came, always the same, in a report that says that results vary."""
    claim = run.report.claim
    bugs = [check for check in claim.checks if check.role == "bug"]
    says_so = any(
        check.kind == "varies" and check.role == "bug" for other in claim.further for check in other.checks
    )
    if not says_so or not bugs or any(check.kind not in _PRINTED for check in bugs):
        return False
    return all(_is_constant(job) for job in run.jobs if job.verdict in SIGHTINGS)


def lacks_the_expected(run: RunDocument) -> bool:
    """Whether the cells with another behaviour lack the expected one as well, which the report names."""
    results = {
        finding.result
        for job in run.jobs
        if job.verdict is Verdict.DIFFERENT
        for check, finding in checks_of_job(run.report.claim.checks, job)
        if check.role == "expected"
    }
    return results == {CheckResult.OTHER}


def _every_check(run: RunDocument) -> Iterator[CheckPart]:
    yield from run.report.claim.checks
    for reading in run.report.claim.further:
        yield from reading.checks


def _is_about_gpu(check: CheckPart) -> bool:
    return check.where.get("device") == "cuda" or "cuda" in (check.sides or ())


def _is_constant(job: JobPart) -> bool:
    """Whether two or more attempts counted, and all of them printed the same."""
    attempts = [one for one in job.attempts if one.counted and one.outcome is not None]
    printed = {one.stdout for one in attempts}
    return len(attempts) > 1 and len(printed) == 1 and not job.varying_values
