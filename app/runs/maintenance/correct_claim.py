"""Correct the claim of a report: stored attempts are judged again, and the earlier claim stays in sight.

A run that would say "not reproduced" is open again until a passage check was made.

The submitter can do this, and every maintainer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy.orm import Session

from app.bounded.calls import OverLimitError, call_within_limits
from app.clock import now
from app.errors import ConflictError, InputError
from app.intake.exhibit import Stance
from app.intake.read import with_claim, with_corrected_stances
from app.intake.reading import Reading
from app.runs.maintenance.passage_checks import check_passages
from app.runs.maintenance.rejudge import judge_run_again
from app.runs.rows.acts import REASON_CHARACTERS, checked_reason, store_act
from app.runs.rows.by_id import get_report
from app.runs.rows.events import emit
from app.runs.rows.facts import judge_stored, reading_of
from app.runs.rows.search_index import index_report
from app.runs.run_object.claim_part import claim_part
from app.runs.run_object.maintainer_acts import EarlierClaim
from app.runs.run_object.storable import to_storable
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries
from app.storage.queries.reports import withdrawals
from worker.contract.text import storable_text

log = structlog.get_logger(__name__)

# A report can be corrected this many times. Each earlier claim is stored.
MOST_CORRECTIONS = 20
_STANCES: Mapping[str, str] = {
    Stance.ACTUAL: "what happens",
    Stance.EXPECTED: "what should happen",
    Stance.ELSEWHERE: "about another place",
    Stance.UNCLEAR: "unclear",
}


def correct_claim(
    session: Session,
    report_id: str,
    correction: str | Mapping[str, str],
    *,
    reason: str,
    who: str,
    settings: ServiceSettings,
) -> None:
    """Replace the claim of a report, and judge the stored attempts of all its runs by the new one.

    `correction` is the new claim, or the stances of exhibits by their ids. Only stances need no reason.
    Raises NotFoundError, InputError for a claim that can't be read, a wrong exhibit or a wrong stance, and
    ConflictError for a withdrawn report.
    """
    if not isinstance(correction, str) and not reason.strip():
        reason = _words_of(correction)
    stored_reason = checked_reason(reason)
    get_report(session, report_id)
    # Runs are locked before their report.
    runs = withdrawals.lock_runs(session, withdrawals.run_ids(session, report_id), wait=True)
    report = get_report(session, report_id, lock=True)
    _check(report)
    before = reading_of(session, report)
    after, claim = _reading_with(before, correction, report.text, who=who, settings=settings)
    # Whether it was corrected before is no part of what a claim says.
    same = before.claim.model_copy(update={"corrected": after.claim.corrected})
    if (after.claim, after.exhibits) == (same, before.exhibits):
        raise ConflictError("The report has this claim already.", code="same_claim")
    replace_claim(
        session,
        report,
        runs,
        before=before,
        after=after,
        claim=claim,
        reason=stored_reason,
        who=who,
        settings=settings,
    )


def replace_claim(
    session: Session,
    report: ReportRow,
    runs: Sequence[RunRow],
    *,
    before: Reading,
    after: Reading,
    claim: str | None,
    reason: str,
    who: str,
    settings: ServiceSettings,
) -> None:
    """Store another claim of a report beside the earlier one, and judge its runs by it. All are locked."""
    moment = now()
    earlier = EarlierClaim(
        claim=claim_part(before.claim),
        claim_text=report.claim_text,
        corrected_by=who,
        corrected_at=moment,
        reason=reason,
    )
    report.earlier_claims = [*report.earlier_claims, to_storable(earlier.model_dump(mode="json"))]
    report.corrected_at = moment
    report.claim_text = None if claim is None else storable_text(claim)
    report.reading = {**report.reading, **stored_claim(after)}
    session.flush()
    index_report(session, report)
    store_act(
        session,
        "report",
        report.id,
        "claim_corrected",
        reason=reason,
        who=who,
        details={"corrections": len(report.earlier_claims), "runs": len(runs)},
    )
    for run in runs:
        _judge_again(session, run, reason=f"The claim was corrected: {reason}"[:2000], who=who)
        if run.state == "finished":
            check_passages(session, run, settings=settings)
    log.info("claim_corrected", report_id=report.id, runs=len(runs))


def _check(report: ReportRow) -> None:
    if report.withdrawn_at is not None:
        raise ConflictError("This report was withdrawn, so it has no text and no claim.", code="withdrawn")
    if len(report.earlier_claims) >= MOST_CORRECTIONS:
        raise ConflictError(
            f"This report was corrected {MOST_CORRECTIONS} times, which is the limit. Submit it again.",
            code="too_many_corrections",
        )


def _words_of(stances: Mapping[str, str]) -> str:
    """The reason of a correction by stances, in words."""
    words = [f"{name} is {_STANCES[stance]}" for name, stance in stances.items() if stance in _STANCES]
    return f"Exhibit {', '.join(words)}."[:REASON_CHARACTERS]


def _reading_with(
    reading: Reading, correction: str | Mapping[str, str], text: str, *, who: str, settings: ServiceSettings
) -> tuple[Reading, str]:
    """The corrected reading, and its claim as it is stored."""
    limits = settings.read_limits
    try:
        if isinstance(correction, str):
            after = call_within_limits(with_claim, reading, correction, text=text, limits=limits)
            return after, correction
        stances = dict(correction)
        return call_within_limits(with_corrected_stances, reading, stances, text=text, limits=limits, who=who)
    except OverLimitError as error:
        raise InputError(
            f"Reading this claim was stopped. {error.message} Send a shorter one.",
            code="reading_limit",
            field="claim",
        ) from error


def stored_claim(reading: Reading) -> Mapping[str, Any]:
    """The parts of a stored reading that another claim changes."""
    data = reading.model_dump(mode="json", include={"claim", "claim_source", "exhibits"})
    stored: dict[str, Any] = to_storable(data)
    return stored


def _judge_again(session: Session, run: RunRow, *, reason: str, who: str) -> None:
    """Judge a run by the new claim. In an open run, the cells that have a verdict get another one."""
    if run.state == "finished":
        judge_run_again(session, run, reason=reason, who=who)
    elif run.state in OPEN_STATES:
        verdicts = {part.id: part.verdict for part in judge_stored(session, run).document.jobs}
        for job in queries.jobs_of_run(session, run.id, lock=True):
            if job.state == "judged":
                job.verdict = verdicts[job.id]
    emit(session, run, "claim.corrected")
