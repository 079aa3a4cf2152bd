"""Puts a fence around a session of Python, IPython or a shell that was pasted without one.

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
# `$ python -c "print(1)"`, and `python - <<EOF`.
_SHELL = re.compile(
    r"[ \t]{0,3}(?:[$%] ?(?:python|ipython)[\d.]{0,5} \S"
    r"|(?:python|ipython)[\d.]{0,5} (?:-c ?['\"]|(?:- ?)?<<-?['\" ]{0,2}\w))"
)
_HERE = re.compile(r"<<-?[ \t]{0,2}['\"]?(?P<end>\w{1,20})['\"]?[ \t]*$")
_QUOTED_PROMPT = re.compile(r"> {0,2}(?:>>> ?[^\s>]|In ?\[[\d *]{1,6}\]:[ \t]*\S)")
_MARK = re.compile(r"> {0,2}(?!>>(?: |$))")
_GOES_ON = re.compile(
    r"(?:>>>|\.\.\.|In ?\[|Out ?\[| {2,}\.{3,}:"
    # A traceback of IPython has blank lines.
    r"|-{2,8}> ?\d|Cell In ?\[|File [~/<\"]|(?:\w{1,40}\.){0,6}\w{0,40}(?:Error|Exception)(?::|$))"
)


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
        if not inside[at] and "python" in lines[at] and _SHELL.match(lines[at]):
            end = _end_of_shell(lines, inside, at)
            result += ["", f"{fence}console", *lines[at:end], fence, ""]
            at = end
            continue
        if not inside[at] and lines[at].startswith(">") and _QUOTED_PROMPT.match(lines[at]):
            session, at = _quoted_session(lines, inside, at)
            result += ["", f"{fence}pycon", *session, fence, ""]
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


def _quoted_session(lines: Sequence[str], inside: Sequence[bool], start: int) -> tuple[list[str], int]:
    """The session that a mail quotes, without its marks, and the line behind it."""
    end = start
    while end < len(lines) and not inside[end] and lines[end].startswith(">"):
        end += 1
    quoted = [_MARK.sub("", line, count=1) for line in lines[start:end]]
    size = _end_of_session(quoted, [False] * len(quoted), 0)
    return quoted[:size], start + size


def _end_of_shell(lines: Sequence[str], inside: Sequence[bool], start: int) -> int:
    """The line behind a command and its output, which ends at a blank line."""
    end = start + 1
    if mark := _HERE.search(lines[start][-200:]):
        here = range(end, min(len(lines), start + _MOST_LINES))
        end = next((at + 1 for at in here if lines[at].strip() == mark["end"]), end)
    while end < len(lines) and not inside[end] and lines[end].strip():
        end += 1
    return end


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
