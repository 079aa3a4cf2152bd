"""A maintainer's word on a report, and the reply to the reporter in three lines of Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from app.states import MaintainersWord
from app.visible_text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class DispositionWords:
    """A word of a maintainer for readers: its name on a button, and a sentence for the reporter."""

    name: str
    sentence: str


DISPOSITIONS: Mapping[MaintainersWord, DispositionWords] = {
    "by_design": DispositionWords(name="By design", sentence="This works as it is meant to."),
    "announced": DispositionWords(
        name="Announced", sentence="A warning of an older version announced this change."
    ),
    "duplicate": DispositionWords(name="Duplicate", sentence="Another report has the same problem."),
    "not_ours": DispositionWords(name="Not ours", sentence="The cause is outside of this project."),
    "fixed": DispositionWords(name="Fixed", sentence="This is fixed."),
    "wont_fix": DispositionWords(name="Won't fix", sentence="It happens, and it will stay as it is."),
    "confirmed": DispositionWords(
        name="Confirmed bug", sentence="This is a bug. It stays open until it is fixed."
    ),
}


# The reasons of the buttons that take one click back.
UNDO_CLOSING = "It was closed by mistake."
UNDO_CONFIRMING = "It was confirmed by mistake."
# Reasons that are our words: whoever acts gave none of their own.
STANDARD_REASONS = frozenset(
    {*(words.sentence for words in DISPOSITIONS.values()), UNDO_CLOSING, UNDO_CONFIRMING}
)
# The name of whoever acts without a token, on the machine of the service.
LOCAL = "local"


def person_words(who: str) -> str:
    """The name of whoever acted, for readers."""
    return "someone on this machine" if who == LOCAL else who


class DispositionPart(BaseModel):
    """The word of a maintainer: why a report is closed, or that it is a bug.

    The measured verdict stays in `standing`.
    """

    model_config = ConfigDict(frozen=True)

    word: MaintainersWord
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
    day = f"{part.created_at:%-d %b %Y}"
    act = "confirmed" if part.word == "confirmed" else "closed"
    return f"{decided}\n{measured}\nEvidence: {address} ({act} by {_line(person_words(part.who))}, {day}).\n"


def _line(text: str) -> str:
    return visible(" ".join(text.split()))
