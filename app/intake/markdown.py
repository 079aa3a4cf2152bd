"""A report's Markdown: its blocks of code, its prose and its headings; comments in HTML are for nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_PYTHON = {"python", "py", "python3", "python2", "pycon", "ipython", "py3", ""}


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a report: `kind` is `code`, `prose` or `heading`; `language` is a fence's tag."""

    kind: str
    text: str
    language: str = ""

    @property
    def may_be_python(self) -> bool:
        """Whether a fence's tag leaves it open that this is Python."""
        return self.language in _PYTHON


def without_comments(text: str) -> str:
    """The text without HTML comments; what stands in one is not part of the report."""
    return _COMMENT.sub("", text)


def blocks_of(text: str) -> list[Block]:
    """The blocks of a report, in order."""
    tokens = MarkdownIt("commonmark", {"maxNesting": 20}).parse(without_comments(text.replace("\r\n", "\n")))
    blocks: list[Block] = []
    heading = False
    for token in tokens:
        if token.type in {"fence", "code_block"}:
            language = token.info.strip().split()[0].lower() if token.info.strip() else ""
            blocks.append(Block("code", token.content, re.sub(r"[^a-z0-9+#-]", "", language)))
        elif token.type == "heading_open":
            heading = True
        elif token.type == "heading_close":
            heading = False
        elif token.type == "inline" and token.content.strip():
            blocks.append(Block("heading" if heading else "prose", token.content.strip()))
    return blocks


def looks_like_markdown(text: str) -> bool:
    """Whether a text is a report and not a script: it has a fence, or a heading that Python would not take for a comment."""
    if re.search(r"^ {0,3}(?:```|~~~)", text, re.MULTILINE):
        return True
    return re.search(r"^#{1,6} ", text, re.MULTILINE) is not None and not _parses(text)


def _parses(text: str) -> bool:
    from app.errors import InputError
    from app.intake.scripts import normalised, parsed

    try:
        parsed(normalised(text))
    except InputError:
        return False
    return True
