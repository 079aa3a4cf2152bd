"""What was typed into a form, as a submission."""

from __future__ import annotations

from collections.abc import Mapping

from app.intake.thread import looks_like_report
from app.runs.submit import Submission


def submission_of(values: Mapping[str, str]) -> Submission:
    """Lines end as Python ends them; patterns are parted by blanks."""
    text = values["text"].replace("\r\n", "\n")
    is_report = values["form"] == "report" or (values["form"] != "script" and looks_like_report(text))
    return Submission(
        script=None if is_report else text,
        report=text if is_report else None,
        claim=values["claim"].strip() or None,
        preset=values["preset"] or None,
        include=tuple(values["include"].split()),
        exclude=tuple(values["exclude"].split()),
        title=values["title"].strip(),
        source_url=values["source_url"].strip() or None,
    )
