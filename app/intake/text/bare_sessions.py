"""Puts a fence around a session of Python or IPython that was pasted without one.

So are statements whose values stand below them behind a mark such as `=>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.code.syntax import parses
from app.intake.sessions.prompts import is_literal

_IMPORT = re.compile(r"(?:import [\w., ]+|from [\w.]+ import .+)$")
_MARKED = re.compile(r"[ \t]*(?:[-=]{1,2}>|→|Out(?:put)?:|#=>|//)[ \t]*(?P<value>\S.*)$")
_CALL = re.compile(r"(?:print\(|[\w.]{1,80}\(|\w{1,40} = ).{0,400}$")
_MOST_LINES = 200
_PROMPT = re.compile(r"(?:>>>[ \t]*\S|In ?\[[\d *]{1,6}\]:[ \t]*\S)")
_GOES_ON = re.compile(r"(?:>>>|\.\.\.|In ?\[|Out ?\[| {2,}\.{3,}:)")


def fenced_sessions(lines: Sequence[str], inside: Sequence[bool], *, fence: str) -> list[str]:
    """The lines with each bare session in a fence. `inside`: whether a line belongs to a fence.

    A session goes on over a blank line if a prompt or an answer follows.
    """
    result: list[str] = []
    at = 0
    while at < len(lines):
        if not inside[at] and (marked := _end_of_marked_program(lines, inside, at)):
            result += ["", f"{fence}python", *lines[at:marked], fence, ""]
            at = marked
            continue
        if inside[at] or not _PROMPT.match(lines[at]):
            result.append(lines[at])
            at += 1
            continue
        end = _end_of_session(lines, inside, at)
        above = []
        if is_literal(lines[at].removeprefix(">>>")) and result and _is_call(result[-1]):
            # The prompt stands before the output: the code stands above it.
            above = [result.pop()]
        result += ["", f"{fence}pycon", *above, *lines[at:end], fence, ""]
        at = end
    return result


def _is_call(line: str) -> bool:
    return _CALL.match(line) is not None and parses(line)


def _end_of_marked_program(lines: Sequence[str], inside: Sequence[bool], start: int) -> int:
    """The line behind a paragraph of an import, statements, and values behind marks; 0 without one."""
    begins = lines[start].startswith(("import ", "from "))
    if not (begins and _IMPORT.match(lines[start])) or (start and lines[start - 1].strip()):
        return 0
    end = start
    while end < min(len(lines), start + _MOST_LINES) and lines[end].strip() and not inside[end]:
        end += 1
    marks = [_MARKED.match(line) for line in lines[start:end]]
    code = "\n".join(line for line, mark in zip(lines[start:end], marks, strict=True) if not mark)
    return end if any(marks) and parses(code) else 0


def _end_of_session(lines: Sequence[str], inside: Sequence[bool], start: int) -> int:
    end = start
    while end < len(lines) and not inside[end]:
        if lines[end].strip():
            end += 1
            continue
        following = next((at for at in range(end, min(end + 3, len(lines))) if lines[at].strip()), None)
        if following is None or inside[following] or not _GOES_ON.match(lines[following]):
            break
        end = following
    return end
