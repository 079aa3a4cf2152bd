"""Read stored reports again by the present rules: list the verdicts that flip, or store the new claims.

Reports whose claim was given as data or corrected stay as they are. So does a report of which other scripts
would be read now, since its attempts are those of the stored ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.bounded.calls import OverLimitError
from app.errors import InputError
from app.intake.reading import ClaimSource, Reading
from app.runs.maintenance.correct_claim import MOST_CORRECTIONS, replace_claim, stored_claim
from app.runs.maintenance.rejudge import Flip, flip_of
from app.runs.rows.acts import checked_reason
from app.runs.rows.by_id import get_report
from app.runs.rows.facts import reading_of
from app.runs.rows.page import MOST_ITEMS, page
from app.runs.submission.report_intake import read_bounded
from app.settings import ServiceSettings
from app.storage.models import ReportRow
from app.storage.queries import judgements as queries
from app.storage.queries.reports import withdrawals


class ReadAgain(StrEnum):
    """The outcome of reading a report again."""

    SAME = "same"
    EXHIBITS = "exhibits"  # the same claim, with exhibits that were not stored
    CLAIM = "claim"  # another claim
    OTHER_SCRIPTS = "other_scripts"  # it stays, since other scripts would be run
    REFUSED = "refused"  # it stays, since it is refused now
    LEFT = "left"  # it stays: given as data, corrected, withdrawn, or corrected too often


class ReportReadAgain(BaseModel):
    """One report: the outcome of reading it again, and the verdicts of its finished runs that flip."""

    model_config = ConfigDict(frozen=True)

    report: str
    outcome: ReadAgain
    flips: list[Flip] = Field(default_factory=list)


class ReadingsAgain(BaseModel):
    """The result of reading a page of reports again. `next` is the cursor of the next page."""

    model_config = ConfigDict(frozen=True)

    applied: bool
    reports: list[ReportReadAgain]
    next: str | None = None


def read_again(
    session: Session,
    *,
    settings: ServiceSettings,
    report_id: str | None = None,
    cursor: str | None = None,
    limit: int = MOST_ITEMS,
    apply: bool = False,
    reason: str = "",
    who: str = "",
) -> ReadingsAgain:
    """Read a page of reports again, oldest first, or one report.

    `apply` stores what changes, and judges stored attempts by the new claims. The earlier claims stay.
    Raises NotFoundError, InputError.
    """
    if report_id is not None:
        get_report(session, report_id)
    stored_reason = checked_reason(reason) if apply else ""

    def of_page(after: str | None, most: int) -> Sequence[str]:
        return queries.reports(session, report_id=report_id, after=after, limit=most)

    ids = page(of_page, cursor=cursor, limit=limit, id_of=str)
    reports = [
        _read_again(session, each, settings=settings, apply=apply, reason=stored_reason, who=who)
        for each in ids.items
    ]
    return ReadingsAgain(applied=apply, reports=reports, next=ids.next_cursor)


def _read_again(
    session: Session, report_id: str, *, settings: ServiceSettings, apply: bool, reason: str, who: str
) -> ReportReadAgain:
    # Runs are locked before their report.
    runs = withdrawals.lock_runs(session, withdrawals.run_ids(session, report_id), wait=True)
    report = get_report(session, report_id, lock=True)
    if report.withdrawn_at is not None or len(report.earlier_claims) >= MOST_CORRECTIONS:
        return ReportReadAgain(report=report_id, outcome=ReadAgain.LEFT)
    before = reading_of(session, report)
    if before.claim_source is not ClaimSource.RULES:
        return ReportReadAgain(report=report_id, outcome=ReadAgain.LEFT)
    after, outcome = _compare(report, before, settings)
    if after is None:
        return ReportReadAgain(report=report_id, outcome=outcome)
    if outcome is ReadAgain.EXHIBITS:
        if apply:
            report.reading = {**report.reading, **stored_claim(after)}
            session.flush()
        return ReportReadAgain(report=report_id, outcome=outcome)
    finished = [run for run in runs if run.state == "finished" and not run.is_withdrawn]
    with session.begin_nested() as preview:
        report.reading = {**report.reading, **stored_claim(after)}
        session.flush()
        flips = [flip for run in finished if (flip := flip_of(session, run)) is not None]
        preview.rollback()
    if apply:
        replace_claim(
            session,
            report,
            runs,
            before=before,
            after=after,
            claim=report.claim_text,
            reason=reason,
            who=who,
            settings=settings,
        )
    return ReportReadAgain(report=report_id, outcome=outcome, flips=flips)


def _compare(
    report: ReportRow, before: Reading, settings: ServiceSettings
) -> tuple[Reading | None, ReadAgain]:
    """The new reading, None if the stored one stays, and how they differ."""
    try:
        after = read_bounded(
            report.text,
            form=report.form,
            claim=report.claim_text,
            title=before.title,
            settings=settings,
            ignore_needs=[need.kind for need in before.ignored_needs],
        )
    except (InputError, OverLimitError):
        return None, ReadAgain.REFUSED
    if [each.digest for each in after.scripts] != [each.digest for each in before.scripts]:
        return None, ReadAgain.OTHER_SCRIPTS
    # A "no" to a claim that came after the attempts needs a passage check of its own.
    again = after.claim.model_copy(update={"corrected": before.claim.corrected})
    if again == before.claim:
        same = after.exhibits == before.exhibits
        after = after.model_copy(update={"claim": again})
        return (None, ReadAgain.SAME) if same else (after, ReadAgain.EXHIBITS)
    late = after.claim.model_copy(update={"corrected": True})
    return after.model_copy(update={"claim": late}), ReadAgain.CLAIM
