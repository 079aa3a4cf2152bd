"""The form for a submission, and the submission that is made from it."""

from __future__ import annotations

from itertools import zip_longest

from pydantic import BaseModel, Field

from app.bounded.calls import OverLimitError, call_within_limits
from app.errors import InputError
from app.intake.reading import NeedKind
from app.intake.text.corrected_environment import MOST_CORRECTIONS
from app.intake.text.thread import looks_like_report
from app.intake.typed.claim_form import checked_json
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
    # Kinds of needs that are none, in words.
    ignore_needs: list[str] = Field(default_factory=list)
    # Kinds of needs that the page showed, and those whose box is ticked: the script needs them.
    need_read: list[str] = Field(default_factory=list)
    need: list[str] = Field(default_factory=list)
    # Fields of the reporter's environment and their values, in the same order.
    environment_name: list[str] = Field(default_factory=list)
    environment_value: list[str] = Field(default_factory=list)
    # Each field as it was read, so that only the others are corrections.
    environment_read: list[str] = Field(default_factory=list)
    # A button that gives one exhibit another stance: its id and the word.
    stance: str = ""
    # A button that runs one preset, whatever is chosen in the form.
    answer: str = ""
    # A claim as data, and the one that the page showed there: unchanged, it says nothing new.
    claim_data: str = ""
    claim_read: str = ""

    @property
    def ignored_needs(self) -> list[str]:
        """Kinds of needs that are none: named ones, and those whose tick was taken away."""
        return [*self.ignore_needs, *(kind for kind in self.need_read if kind not in self.need)]

    @property
    def exact_claim(self) -> str:
        """The claim as data that somebody wrote or mended; empty if there is none."""
        data, read = (text.replace("\r\n", "\n").strip() for text in (self.claim_data, self.claim_read))
        return "" if data == read else data

    @property
    def environment(self) -> dict[str, str]:
        """The fields of the reporter's environment that somebody corrected or added."""
        return {name: value for name, value, as_read in self.fields if value.strip() != as_read}

    @property
    def fields(self) -> list[tuple[str, str, str]]:
        """Each field of the reporter's environment: its name, its value, and what was read of it."""
        lists = (self.environment_name, self.environment_value, self.environment_read)
        rows = zip_longest(*(each[:MOST_CORRECTIONS] for each in lists), fillvalue="")
        return [(name, value, as_read) for name, value, as_read in rows if name]


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
        claim=checked_json(form.exact_claim) if form.exact_claim else form.claim.strip() or None,
        preset=form.answer or form.preset or None,
        include=tuple(form.include.split()),
        exclude=tuple(form.exclude.split()),
        title=form.title.strip(),
        source_url=form.source_url.strip() or None,
        ignore_needs=_kinds(form.ignored_needs),
        environment=tuple(form.environment.items()),
    )


def _kinds(texts: list[str]) -> tuple[NeedKind, ...]:
    """Kinds of needs, split at blanks and commas. Raises InputError."""
    kinds = list(dict.fromkeys(" ".join(texts).replace(",", " ").split()))
    for kind in kinds:
        if kind not in set(NeedKind):
            raise InputError(
                f"Kinds of needs are: {', '.join(NeedKind)}.", code="bad_need", field="ignore_needs"
            )
    return tuple(map(NeedKind, kinds))
