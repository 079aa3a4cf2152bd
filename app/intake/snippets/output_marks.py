"""Finds output inside a block of code: tracebacks, and lines with a mark such as `>>` or `=>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TRACEBACK = re.compile(
    r"\s*(?:\w*(?:Error|Exception|Warning|Interrupt|Exit)\s+|\w{1,80}+[ \t]{2,80})?"
    r"Traceback \(most recent call last\)"
    # Its first line may be cut off.
    r"|[ \t]{0,8}File \"[^\"\n]{1,300}\", line \d{1,9}, in \S"
)
_RULER = re.compile(r"\s*-{20,}\s*$")
# A mark that somebody wrote before a printed value. Three signs would be a prompt.
_MARKED = re.compile(
    r"[ \t]*(?:>>(?!>)|[=-]{1,2}>(?!>)|→|⇒|⟹|➜|»|#\s?=>|#>"
    r"|\[?Out(?:put)?\]?\s?(?:\[\d+\])?:(?=\s))[ \t]*(?P<value>\S.*)$"
)
# A comment on a line of its own with such a mark: `#> 6`, `# => 6`, `#=> 6`, `## 6`, `# -> 6`.
_MARKED_COMMENT = re.compile(
    r"#{1,2}\s?(?:[=-]{1,2}>|>{1,2}|→|⇒|⟹|➜|»|Out(?:put)?(?:\s?\[\d+\])?:(?=\s))[ \t]*(?P<value>\S.*)$"
)
# Signs that may stand before all lines of a block: comments and quotes.
_COMMON_SIGNS = ("#>", "####", "###", "##", "#", "//", "--", ">>", "=>", ">", "|")
# Signs before a traceback, which the lines below have too: `#| `, `%% `, `E   `, `stderr: `.
_SIGNED_TRACEBACK = re.compile(
    r"(?P<sign>[ \t]{0,12}(?:[#/;%|>*\"!$•:-]{1,4}(?: >)?|E(?=[ \t])|(?:std)?err(?:or)?[:>|])[ \t]{0,8}"
    r"|[ \t]{1,12})"
    r"Traceback \(most recent call last\)"
)


def traceback_start(lines: Sequence[str]) -> int | None:
    """The number of the first line of the first traceback; None if there is none.

    IPython draws a line above it.
    """
    at = next((at for at, line in enumerate(lines) if _TRACEBACK.match(line)), None)
    if at is None:
        return None
    return at - 1 if at and _RULER.match(lines[at - 1]) else at


def split_marked_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines without marked ones, which become blank, and the values behind the marks."""
    rest: list[str] = []
    values: list[str] = []
    for line in lines:
        match = _MARKED.match(line)
        rest.append("" if match else line)
        values += [match["value"]] if match else []
    return rest, values


def commented_output(lines: Sequence[str]) -> str:
    """The output that comments of a script show: the lines of a traceback, and lines with a mark.

    Empty if they show none.
    """
    outputs: list[str] = []
    run: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("#"):
            run.append(line)
            continue
        text = without_common_sign("\n".join(run)).split("\n") if run else []
        start = traceback_start(text)
        outputs += text[start:] if start is not None else _marked_comments(run)
        run = []
    return "\n".join(outputs)


def _marked_comments(run: Sequence[str]) -> list[str]:
    matches = [_MARKED_COMMENT.match(line) for line in run]
    return [match["value"] for match in matches if match] if all(matches) else []


def without_common_sign(text: str) -> str:
    """The text without the sign that all its lines begin with, such as `# `."""
    lines = without_signs_of_tracebacks(text).split("\n")
    filled = [line for line in lines if line.strip()]
    if filled and all(map(_MARKED.match, filled)):
        return "\n".join(split_marked_lines(filled)[1])
    for sign in _COMMON_SIGNS:
        if filled and all(line.lstrip().startswith(sign) for line in filled):
            stripped = [line.lstrip().removeprefix(sign) for line in lines]
            space = all(line.startswith(" ") or not line for line in stripped)
            return "\n".join(line.removeprefix(" ") if space else line for line in stripped)
    return "\n".join(lines)


def without_signs_of_tracebacks(text: str) -> str:
    """The text, in which tracebacks have no sign before each line, such as that of a comment."""
    if "Traceback" not in text:
        return text
    lines: list[str] = []
    sign = ""
    for line in text.split("\n"):
        match = _SIGNED_TRACEBACK.match(line) if line.find("Traceback") > 0 else None
        sign = match["sign"] if match else sign
        if sign and not line.startswith(sign.rstrip()):
            sign = ""
        lines.append(line.removeprefix(sign if line.startswith(sign) else sign.rstrip()))
    return "\n".join(lines)
