"""Puts a fence around a session of Python or IPython that was pasted without one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PROMPT = re.compile(r"(?:>>>[ \t]*\S|In ?\[[\d *]{1,6}\]:[ \t]*\S)")
_GOES_ON = re.compile(r"(?:>>>|\.\.\.|In ?\[|Out ?\[| {2,}\.{3,}:)")


def fenced_sessions(lines: Sequence[str], inside: Sequence[bool], *, fence: str) -> list[str]:
    """The lines with each bare session in a fence. `inside`: whether a line belongs to a fence.

    A session goes on over a blank line if a prompt or an answer follows.
    """
    result: list[str] = []
    at = 0
    while at < len(lines):
        if inside[at] or not _PROMPT.match(lines[at]):
            result.append(lines[at])
            at += 1
            continue
        end = _end_of_session(lines, inside, at)
        result += ["", f"{fence}pycon", *lines[at:end], fence, ""]
        at = end
    return result


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
