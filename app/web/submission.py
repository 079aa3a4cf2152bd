"""What was typed into the form of a submission, and the submission it makes."""

from __future__ import annotations

from pydantic import BaseModel

from app.intake.text.thread import looks_like_report
from app.runs.submission.submit import Submission


class SubmissionForm(BaseModel):
    """The fields as sent; whatever a browser leaves out is empty."""

    text: str = ""
    form: str = "auto"
    claim: str = ""
    title: str = ""
    preset: str = ""
    include: str = ""
    exclude: str = ""
    source_url: str = ""


def submission_of(typed: SubmissionForm) -> Submission:
    """Lines end as Python ends them; patterns are parted by blanks."""
    text = typed.text.replace("\r\n", "\n")
    is_report = typed.form == "report" or (typed.form != "script" and looks_like_report(text))
    return Submission(
        script=None if is_report else text,
        report=text if is_report else None,
        claim=typed.claim.strip() or None,
        preset=typed.preset or None,
        include=tuple(typed.include.split()),
        exclude=tuple(typed.exclude.split()),
        title=typed.title.strip(),
        source_url=typed.source_url.strip() or None,
    )
