"""Tells sentences in a fence from output: forms ask for a message there, and people write sentences."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import DESIRED, EXPECT, LITERAL, MODALS, any_of

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
# A form asks for a message below such a heading, and `No error, but …` is an answer.
_ASKS_FOR_ERROR = re.compile(
    r"\b(?:errors?|exceptions?|messages?|traceback|stack ?trace|fehler\w*|erreurs?|errores"
    r"|errori)\b|错误|エラー",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(
    r"\W{0,3}(?:(?:there (?:is|was|are) |it'?s |i get |gibt |il n'y a )?(?:no|not an?|without(?: an?| any)?"
    r"|keine?|pas d'|aucune?|ning[uú]n|nessun)[ '’]?(?: ?\w{1,12}){0,2}? ?"
    r"(?:errors?|exceptions?|tracebacks?|crash|warnings?|fehler(?:meldung)?|erreur|errore)\b"
    r"|n/?a\b|n(?:one|othing)\b(?=[.,;:])"
    r"|没有(?:错误|报错)|无报错)",
    re.IGNORECASE,
)
# `9.16 instead of 9.0` on a line of its own.
_IN_PLACE_OF = re.compile(
    rf"\W{{0,3}}(?:\w+ ?=+ ?)?{LITERAL}[`,]{{0,2}} (?:instead of|rather than|in place of|statt|anstatt"
    rf"|au lieu de|en lugar de|en vez de|invece di|em vez de)"
    rf" (?:the (?:right|correct|expected) )?`?{LITERAL}\W{{0,3}}",
    re.IGNORECASE,
)
_MOST_ANSWER = 400
_FEWEST_WORDS_OF_ANSWER = 3
# Words outside of code.
_FEWEST_WORDS = 6


def is_fenced_prose(text: str, heading: str = "") -> bool:
    """True if the text of a fence is sentences with code between backticks, as in prose.

    So is an answer such as `No error, but …` below a heading that asks for a message.
    """
    text = text.strip()
    if _is_answer(text, heading):
        return True
    if len(text) > _MOST_TEXT or text.count("\n") >= _MOST_LINES or _NOT_PROSE.search(text):
        return False
    if len(_CODE.findall(text)) < 2:
        return False
    outside = _CODE.sub(" ", text)
    return len(_WORDS.findall(outside)) >= _FEWEST_WORDS and _SPEAKS.search(outside) is not None


def _is_answer(text: str, heading: str) -> bool:
    """Whether one line says that there is no error, and what there is, or which value stands for which."""
    if len(text) > _MOST_ANSWER or "\n" in text:
        return False
    denies = _ASKS_FOR_ERROR.search(heading) is not None and _NO_ERROR.match(text) is not None
    words = _WORDS.findall(_CODE.sub(" ", text))
    is_long = len(words) >= _FEWEST_WORDS_OF_ANSWER or any(map(str.isdigit, text))
    return (denies and is_long) or _IN_PLACE_OF.fullmatch(text) is not None
