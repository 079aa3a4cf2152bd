"""Reads the marks of code of trackers, forums, chats and web pages as fences."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

_FENCE = "~" * 20
_MOST_LINES = 400
_MOST_LINE = 300
# The mark that opens code, on a line of its own, and the one that closes it: of Trac, Jira and forums.
_OPENING = re.compile(
    r"[ \t]{0,8}(?:(?P<braces>\{\{\{)|\{(?P<curly>code|noformat)(?::(?P<tag>\w{1,20})?[^}\n]{0,80})?\}"
    r"|\[(?P<square>code|python|pre)(?:=\"?(?P<language>\w{1,20})\"?)?\])(?P<rest>[^\n]{0,300})$",
    re.IGNORECASE,
)
_TAG_BELOW = re.compile(r"[ \t]{0,8}#![ \t]{0,4}(?P<tag>\w{1,20})[ \t]{0,8}$")
# `[10:32] anna: ` in front of a fence.
_CHAT = re.compile(r"(?P<who>[\[\w][\w :.<>/\]-]{1,60}: ?)(?P<rest>```[^`\n]{0,300})$")
_BREAK = re.compile(r"<br[ \t]{0,4}/?>", re.IGNORECASE)
_LEAST_BREAKS = 2


def with_plain_fences(text: str) -> str:
    """The text with fences in the place of other marks of code."""
    if any(mark in text for mark in ("{{{", "{code", "{noformat", "[/")):
        text = _with_fences(text)
    return _without_breaks(_with_chats(text))


def _with_fences(text: str) -> str:
    lines, result, at = text.split("\n"), list[str](), 0
    ends = _Ends(lines)
    while at < len(lines):
        match = _OPENING.match(lines[at]) if len(lines[at]) <= _MOST_LINE else None
        end = ends.below(at, match) if match else None
        if match is None or end is None:
            result.append(lines[at])
            at += 1
            continue
        tag, code = _code(lines[at : end + 1], match, ends.mark(match))
        result += ["", f"{_FENCE}{tag}", *code, _FENCE, ""]
        at = end + 1
    return "\n".join(result)


class _Ends:
    """Finds the lines with which code ends. Each mark is looked for once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._places: dict[str, list[int]] = {}

    @staticmethod
    def mark(match: re.Match[str]) -> str:
        """The mark that closes what this one opens."""
        if match["braces"]:
            return "}}}"
        return f"{{{match['curly']}}}" if match["curly"] else f"[/{match['square']}]"

    def below(self, start: int, match: re.Match[str]) -> int | None:
        """The line with the next closing mark; None if there is none near, or a fence is in between."""
        mark = self.mark(match)
        if mark not in self._places:
            self._places[mark] = [at for at, line in enumerate(self._lines) if mark in line][::-1]
        places = self._places[mark]
        while places and (places[-1] < start or (places[-1] == start and mark not in match["rest"])):
            places.pop()
        end = places[-1] if places else None
        if end is None or end - start > _MOST_LINES:
            return None
        return None if any("```" in line or "~~~" in line for line in self._lines[start : end + 1]) else end


def _code(lines: Sequence[str], match: re.Match[str], mark: str) -> tuple[str, list[str]]:
    """The language and the lines of code."""
    tag = match["tag"] or match["language"] or ""
    inside = [match["rest"], *lines[1:]]
    inside[-1] = inside[-1].partition(mark)[0]
    code = [line for at, line in enumerate(inside) if line.strip() or 0 < at < len(inside) - 1]
    if code and (below := _TAG_BELOW.match(code[0])):
        tag, code = below["tag"], code[1:]
    return ("" if tag.lower() in {"none", "title"} else tag.lower()), code


def _with_chats(text: str) -> str:
    """A fence behind the name of its writer begins a line."""
    if ": ```" not in text:
        return text
    return "\n".join(
        _CHAT.sub(r"\g<who>\n\g<rest>", line, count=1)
        if ": ```" in line and len(line) <= _MOST_LINE
        else line
        for line in text.split("\n")
    )


def _without_breaks(text: str) -> str:
    """The lines that end with `<br>`, without it and without entities, unless the text has a fence."""
    if "<br" not in text.lower() or "```" in text or "~~~" in text:
        return text
    lines = text.split("\n")
    if sum(_BREAK.search(line[-40:]) is not None for line in lines) < _LEAST_BREAKS:
        return text
    return "\n".join(
        html.unescape(_BREAK.sub("\n", line).rstrip("\n")).replace("\u00a0", " ") if "<" in line else line
        for line in lines
    )
