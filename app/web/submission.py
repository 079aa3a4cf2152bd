"""The form for a submission, and the submission that is made from it."""

from __future__ import annotations

from pydantic import BaseModel

from app.bounded.calls import OverLimitError, call_within_limits
from app.intake.text.thread import looks_like_report
from app.runs.submission.submit import Submission


class SubmissionForm(BaseModel):
    """The fields as a browser sends them. A field that it leaves out is empty."""

    text: str = ""
    form: str = "auto"
    claim: str = ""
    title: str = ""
    preset: str = ""
    include: str = ""
    exclude: str = ""
    source_url: str = ""


def _is_report(text: str) -> bool:
    """Whether a text looks like a report. One that takes too long to look at is treated as a report."""
    try:
        return call_within_limits(looks_like_report, text)
    except OverLimitError:
        return True


def submission_of(form: SubmissionForm) -> Submission:
    r"""The submission. Line ends become `\n`, and target patterns are split at blanks."""
    text = form.text.replace("\r\n", "\n")
    is_report = form.form == "report" or (form.form != "script" and _is_report(text))
    return Submission(
        script=None if is_report else text,
        report=text if is_report else None,
        claim=form.claim.strip() or None,
        preset=form.preset or None,
        include=tuple(form.include.split()),
        exclude=tuple(form.exclude.split()),
        title=form.title.strip(),
        source_url=form.source_url.strip() or None,
    )
