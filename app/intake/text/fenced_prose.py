"""Tells sentences in a fence from output: forms ask for a message there, and people write sentences."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import DESIRED, EXPECT, MODALS, any_of

_MOST_TEXT = 3_000
_MOST_LINES = 30
# Shell prompts, errors, logs and Python at a prompt.
_NOT_PROSE = re.compile(
    r"^[^\S\n]*(?:[$#%>]|>>>|\.\.\.|In \[)|\b\w*(?:Error|Warning|Exception|Traceback)\b"
    r"|^[^\S\n]*(?:\w+ ?=|import |from )|\b(?:INFO|DEBUG|WARN|FAILED|PASSED)\b",
    re.MULTILINE,
)
_CODE = re.compile(r"`[^`\n]{1,200}`")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_SPEAKS = re.compile(
    rf"\b(?:I|we|me|my|our|{any_of(DESIRED, MODALS, EXPECT)}|instead|before|afterwards)\b", re.IGNORECASE
)
# Words outside of code.
_FEWEST_WORDS = 6


def is_fenced_prose(text: str) -> bool:
    """True if the text of a fence is sentences with code between backticks, as in prose."""
    text = text.strip()
    if len(text) > _MOST_TEXT or text.count("\n") >= _MOST_LINES or _NOT_PROSE.search(text):
        return False
    if len(_CODE.findall(text)) < 2:
        return False
    outside = _CODE.sub(" ", text)
    return len(_WORDS.findall(outside)) >= _FEWEST_WORDS and _SPEAKS.search(outside) is not None
