"""The reason why a maintainer closed a report, and the reply to the reporter in three lines of Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from app.states import Disposition
from app.visible_text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class DispositionWords:
    """A disposition for readers: its name on a button, and a sentence for the reporter."""

    name: str
    sentence: str


DISPOSITIONS: Mapping[Disposition, DispositionWords] = {
    "by_design": DispositionWords(name="By design", sentence="This works as it is meant to."),
    "announced": DispositionWords(
        name="Announced", sentence="A warning of an older version announced this change."
    ),
    "duplicate": DispositionWords(name="Duplicate", sentence="Another report has the same problem."),
    "not_ours": DispositionWords(name="Not ours", sentence="The cause is outside of this project."),
    "fixed": DispositionWords(name="Fixed", sentence="This is fixed."),
    "wont_fix": DispositionWords(name="Won't fix", sentence="It happens, and it will stay as it is."),
}


class DispositionPart(BaseModel):
    """The word of a maintainer on a closed report. The measured verdict stays in `standing`."""

    model_config = ConfigDict(frozen=True)

    word: Disposition
    duplicate_of: str | None = Field(default=None, description="the id of another report")
    fixed_by: str | None = Field(default=None, description="a version, or the address of a change")
    reason: str
    who: str
    created_at: datetime


def reply_markdown(part: DispositionPart, *, summary: str, address: str, other: str = "") -> str:
    """Three lines for the reporter: what was decided and why, what was measured, and where the evidence is.

    `address` is that of the report, and `other` that of the report that it duplicates.
    """
    words = DISPOSITIONS[part.word]
    name = words.name
    if part.word == "fixed":
        name = f"Fixed by {_line(part.fixed_by or '')}"
    elif part.word == "duplicate":
        name = f"Duplicate of {other}"
    reason = _line(part.reason)
    decided = f"**{name}.** {words.sentence}"
    if reason != words.sentence:
        decided += f" {reason}"
    measured = f"Measured: {summary}" if summary else "Measured: nothing yet."
    closed = f"{part.created_at:%-d %b %Y}"
    return f"{decided}\n{measured}\nEvidence: {address} (closed by {_line(part.who)}, {closed}).\n"


def _line(text: str) -> str:
    return visible(" ".join(text.split()))
