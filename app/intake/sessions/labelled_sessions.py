"""Splits a block that holds several sessions, each under a label such as `python 3:` or `On 2.0:`."""

from __future__ import annotations

import re

_PROMPT = re.compile(r"[ \t]*(?:>>> ?|In ?\[\d{1,6}\]:)")
_LABEL = re.compile(
    r"[ \t]*+(?:#+ ?|={2,} ?|-{2,} ?|\[)?(?P<label>[A-Za-z][^\n>\[\]]{0,78}?)\]?[ \t]?(?:={2,10}|-{2,10})?"
    r"(?P<colon>:)?$"
)
_VERSION = re.compile(r"\d")
# The lines with which an interpreter greets, and its question for help.
_GREETING = re.compile(r"Python \d[\w.+]{0,20} (?:\(|\|)|\[(?:GCC|Clang|MSC)\b|Type \"help\"|IPython \d")
_LEAST = 2
_MOST_GREETING = 8
_MOST_LINES = 5_000


def labelled_sessions(text: str) -> list[tuple[str, str]]:
    """(label, session) of each session; empty unless there are several, and each has its label.

    A label ends with a colon or names a version, and a prompt follows it.
    """
    lines = text.split("\n")[:_MOST_LINES]
    starts = [at for at, line in enumerate(lines) if _is_label(line, lines, at)]
    if len(starts) < _LEAST or any(map(_PROMPT.match, lines[: starts[0]])):
        return []
    ends = [*starts[1:], len(lines)]
    return [
        (_LABEL.match(lines[start].rstrip())["label"].strip() + ":", "\n".join(lines[start + 1 : end]))  # type: ignore[index]
        for start, end in zip(starts, ends, strict=True)
    ]


def _is_label(line: str, lines: list[str], at: int) -> bool:
    match = None if _PROMPT.match(line) else _LABEL.match(line.rstrip())
    if match is None or not (match["colon"] or _VERSION.search(match["label"])):
        return False
    if _GREETING.match(line):
        return False
    nearby = lines[at + 1 : at + 1 + _MOST_GREETING]
    below = next((other for other in nearby if other.strip() and not _GREETING.match(other)), "")
    return _PROMPT.match(below) is not None
