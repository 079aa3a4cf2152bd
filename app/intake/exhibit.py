"""An exhibit: a piece of evidence in a report, with its place in the text and its stance."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.intake.claim.claims import Check, CheckKind, Where
from app.intake.words.vocabulary import strip_quotes


class ExhibitKind(StrEnum):
    """The kinds of exhibits."""

    TRACEBACK = "traceback"
    ERROR_LINE = "error_line"
    CRASH = "crash"
    OUTPUT = "output"
    COMMENTED_VALUE = "commented_value"  # in a comment beside the statement that prints it
    REPL_VALUE = "repl_value"  # below a prompt
    INLINE_VALUE = "inline_value"  # in a sentence
    NUMBER = "number"  # in a sentence
    WARNING = "warning"
    RELATION = "relation"  # a sentence: differs, varies, is slower, hangs, does not fail
    EXIT_STATUS = "exit_status"


class Stance(StrEnum):
    """The stance of a report about an exhibit."""

    ACTUAL = "actual"  # it happens
    EXPECTED = "expected"  # it should happen
    ELSEWHERE = "elsewhere"  # it is so in another version, on another device or with other code
    UNCLEAR = "unclear"  # it may be what happens: it can only add doubt


class Span(BaseModel):
    """A place in a text as submitted. Offsets count characters (Unicode code points) from 0; `end` is behind.

    `post` is 0 for the report itself, and the number of the comment in a thread, counted from 1. Offsets in
    a thread are those in the body of that post.
    """

    model_config = ConfigDict(frozen=True)

    post: int = 0
    start: int
    end: int


class Condition(BaseModel):
    """The circumstances to which an exhibit is limited: the words that say so, and the place they name."""

    model_config = ConfigDict(frozen=True)

    words: str = ""
    where: Where = Field(default_factory=Where)


class ExhibitAnchor(BaseModel):
    """The statement that prints or raises it: the number of the script, and the line of the script as run."""

    model_config = ConfigDict(frozen=True)

    script: int = 1
    line: int


class Exhibit(BaseModel):
    """One piece of evidence. `text` is the submitted text at `span`."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: ExhibitKind
    span: Span
    author: str
    text: str
    stance: Stance
    # The words that decided the stance. Empty if none did: then it is what happens.
    because: str = ""
    condition: Condition | None = None
    anchor: ExhibitAnchor | None = None
    # The person who gave it another stance than the words did.
    corrected_by: str | None = None
    # The check that it makes if it is what happens.
    evidence: Check


def values_of(check: Check) -> frozenset[str]:
    """The printed values of a check, line by line, without quotation marks around them."""
    texts = (*check.lines, *check.side_lines, check.number or "")
    return frozenset(value for text in texts for line in text.splitlines() if (value := strip_quotes(line)))


def is_about(exhibit: Exhibit, check: Check) -> bool:
    """True if a check of a claim is made of the evidence of an exhibit."""
    return same_evidence(exhibit.evidence, check)


def same_evidence(evidence: Check, check: Check) -> bool:
    """True if two checks are made of the same evidence, or one of a part of the other's."""
    mine, others = values_of(evidence), values_of(check)
    if mine or others:
        return bool(mine and others) and (mine <= others or others <= mine)
    if check.kind is evidence.kind is CheckKind.EXCEPTION:
        one, other = evidence.message or "", check.message or ""
        is_same = one.startswith(other) or other.startswith(one)
        return evidence.exception_type == check.exception_type and is_same
    named = ("kind", "exception_type", "signal", "exit_status", "sides")
    return all(getattr(evidence, name) == getattr(check, name) for name in named)
