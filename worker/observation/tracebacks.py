"""Reads the exception that a traceback on stderr ends with, for scripts whose harness could not report it."""

from __future__ import annotations

import re

from worker.contract import ExceptionFacts
from worker.contract.text import storable_text

_HEAD = "Traceback (most recent call last):"
_LAST_LINE = re.compile(r"(?P<type>[A-Za-z_][\w.]*(?:\.<locals>\.\w+)*)(?:: (?P<message>.*))?", re.DOTALL)
_SYNTAX = re.compile(r'  File ".*", line \d+')
_MAX_MESSAGE = 8192


def read_traceback(stderr: str) -> ExceptionFacts | None:
    """The exception of the last traceback, with all lines of its message; None without a traceback."""
    start = stderr.rfind("\n" + _HEAD)
    start = 0 if start < 0 and stderr.startswith(_HEAD) else start + 1
    if start == 0 and not stderr.startswith(_HEAD):
        return _read_syntax_error(stderr)
    lines = stderr[start:].splitlines()[1:]
    for number, line in enumerate(lines):
        if line and not line.startswith(" "):
            return _facts("\n".join(lines[number:]))
    return None


def _read_syntax_error(stderr: str) -> ExceptionFacts | None:
    """The error of a script that doesn't compile: its traceback has no first line."""
    lines = stderr.splitlines()
    if (
        lines
        and _SYNTAX.match(lines[0])
        and re.match(r"\w*(?:SyntaxError|IndentationError|TabError)\b", lines[-1])
    ):
        return _facts(lines[-1])
    return None


def _facts(text: str) -> ExceptionFacts | None:
    match = _LAST_LINE.fullmatch(text.rstrip("\n"))
    if match is None:
        return None
    return ExceptionFacts(
        type=match["type"][:200], message=storable_text((match["message"] or "")[:_MAX_MESSAGE])
    )
