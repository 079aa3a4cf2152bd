"""Reads shell sessions that show their script: by `cat`, a here-document, or `python -c`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHOWS = re.compile(r"\b(?:cat|more|less|bat|type)\b[^|<>&;\n]{1,200}\.py\s*$")
_HERE = re.compile(
    r"(?:\bcat\b[^<\n]{0,200}|\bpython[\d.]*(?: -)?"
    r"|\btee\b[^<\n]{0,200})\s*<<-?\s*(['\"]?)(?P<end>\w{1,40})\1"
)
_INLINE = re.compile(r"\bpython[\d.]* (?:-[A-Zu] )*-c\s*(?P<quote>['\"])(?P<code>.*)")
_ASKS_STATUS = re.compile(
    r"(?:^|[\s;&])(?:echo\s+[\"']?(?:[\w ]{0,20}[:=]? ?)?(?:\$\?|%errorlevel%|\$lastexitcode)[\"']?"
    r"|\$lastexitcode)\s*$",
    re.IGNORECASE,
)
_STATUS = re.compile(r"\s*(?:[A-Za-z ]{1,20}[:=]? ?)?(-?\d{1,10})\s*$")
_MOST_LINES = 5_000


@dataclass(frozen=True, slots=True)
class Piece:
    """The contents of a block. `transcript`: the code was typed at a prompt."""

    code: str = ""
    output: str = ""
    commands: str = ""
    transcript: bool = False
    # The code stands in a shell session.
    session: bool = False
    # Answers below the comments of a session, if there are several: (comment such as `On GPU`, lines).
    answers: tuple[tuple[str, str], ...] = ()
    # The exit status that a shell answered.
    status: str = ""


def without_status(lines: Sequence[str], are_commands: Sequence[bool]) -> tuple[str, list[str], list[bool]]:
    """The last exit status that the session asks for, and the lines without these answers."""
    status, rest = "", list[int]()
    is_question = False
    for at, line in enumerate(lines):
        answer = _STATUS.match(line) if is_question and not are_commands[at] else None
        if answer:
            status, is_question = answer[1], False
            continue
        rest.append(at)
        if line.strip():
            is_question = are_commands[at] and _ASKS_STATUS.search(line[-200:]) is not None
    return status, [lines[at] for at in rest], [are_commands[at] for at in rest]


def shell_session(lines: Sequence[str], are_commands: Sequence[bool]) -> Piece | None:
    """The session's script, output and commands; None if no command shows a script."""
    code: list[str] = []
    output: list[str] = []
    commands: list[str] = []
    at = 0
    lines = lines[:_MOST_LINES]
    while at < len(lines):
        line = lines[at]
        at += 1
        if not are_commands[at - 1]:
            output.append(line)
            continue
        commands.append(line)
        if code:
            continue
        if here := _HERE.search(line):
            end = next(
                (number for number in range(at, len(lines)) if lines[number].strip() == here["end"]),
                len(lines),
            )
            code, at = list(lines[at:end]), end + 1
        elif inline := _INLINE.search(line):
            code, at = _quoted_argument(inline["code"], inline["quote"], lines, at)
        elif _SHOWS.search(line):
            end = next((number for number in range(at, len(lines)) if are_commands[number]), len(lines))
            code, at = list(lines[at:end]), end
    if not any(line.strip() for line in code):
        return None
    return Piece(
        code="\n".join(code), output="\n".join(output).strip("\n"), commands="\n".join(commands), session=True
    )


def _quoted_argument(first: str, quote: str, lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The lines of an argument up to its closing quote, and the number of the next line."""
    lines_of_code = [first]
    while not lines_of_code[-1].rstrip().endswith(quote) and at < len(lines):
        lines_of_code.append(lines[at])
        at += 1
    if not lines_of_code[-1].rstrip().endswith(quote):
        return [], at
    lines_of_code[-1] = lines_of_code[-1].rstrip()[:-1]
    return lines_of_code, at
