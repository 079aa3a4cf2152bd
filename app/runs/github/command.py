"""Finds `/samehere preset=NAME` in a comment: only as a line of its own that its author wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMMAND = re.compile(r"/samehere(?:[ \t]+preset=(?P<preset>[A-Za-z0-9][A-Za-z0-9._-]{0,63}))?[ \t]*")
MOST_CHARACTERS = 70_000
# CommonMark, as GitHub reads comments. HTML stays HTML, so that nothing in it is a line of text.
_MARKDOWN = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class Command:
    """A request for a run. `preset` is None for the first one of the repository."""

    preset: str | None


def command_in(comment: str) -> Command | None:
    """The command of a comment.

    None without one, or if there are two different ones. Quotes, lists, code and HTML hold no command: they
    are often somebody else's words.
    """
    if len(comment) > MOST_CHARACTERS or "/samehere" not in comment:
        return None
    tokens = _MARKDOWN.parse(comment)
    commands = {
        Command(match["preset"])
        for opening, inline in pairwise(tokens)
        if opening.type == "paragraph_open" and opening.level == 0
        for line in _plain_lines(inline)
        if (match := _COMMAND.fullmatch(line)) is not None
    }
    return commands.pop() if len(commands) == 1 else None


def _plain_lines(inline: Token) -> Iterator[str]:
    """The lines of a paragraph. Whatever is no plain text, such as a code span, makes its line no command."""
    line = ""
    for part in inline.children or ():
        if part.type in {"softbreak", "hardbreak"}:
            yield line
            line = ""
        else:
            line += part.content if part.type == "text" and part.level == 0 else "\0"
    yield line
