"""Rewrites forms that are no Markdown: blocks of reStructuredText, and tables in HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.layout.captions import (
    is_expected_caption,
    is_newer_caption,
    is_older_caption,
    is_seen_caption,
)
from app.intake.sessions.warning_lines import numbers_of_lines, warnings_shown
from app.intake.snippets.transcripts import take_apart
from app.intake.text.forms.notebook_json import with_cells_of_notebooks
from app.intake.text.forms.site_markup import with_plain_fences
from app.intake.text.markdown import Block
from app.intake.words.vocabulary import is_printed_line

_DIRECTIVE = re.compile(
    r"(?P<margin> {0,12})\.\. (?:code-block|code|sourcecode)::[ \t]*+(?P<language>[\w-]{0,20})[ \t]*+$"
)
_NO_LANGUAGE = frozenset(("none", "text", "console", "shell"))
_OPTION = re.compile(r"\s*:[\w-]{1,20}:")
_FENCE = "~" * 20
_TABLE = re.compile(
    r"<table\b[^>\n]{0,200}>(?P<rows>(?:(?!<table\b).){1,20000}?)</table>", re.IGNORECASE | re.DOTALL
)
_ROW = re.compile(r"<tr\b[^>]{0,200}>", re.IGNORECASE)
_CELL = re.compile(r"<t[hd]\b[^>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,200}>")
_SPACE = re.compile(r"\s+")
_DATA = frozenset(("json", "yaml", "yml", "toml", "ini", "xml", "html"))
_MOST_ROWS = 40
_MOST_WORDS = 8
_MOST_LINES = 60


def as_markdown(text: str) -> str:
    """The text with fences for blocks of reStructuredText, and with Markdown tables for those in HTML."""
    text = with_cells_of_notebooks(with_plain_fences(text))
    text = _TABLE.sub(_markdown_table, text) if "<table" in text.lower() else text
    return _with_fences(text) if ".. code" in text or ".. source" in text else text


def _with_fences(text: str) -> str:
    lines, result, at = text.split("\n"), list[str](), 0
    while at < len(lines):
        match = _DIRECTIVE.match(lines[at])
        at += 1
        if match is None:
            result.append(lines[at - 1])
            continue
        while at < len(lines) and (not lines[at].strip() or _OPTION.match(lines[at])):
            at += 1
        margin = len(match["margin"])
        body: list[str] = []
        while at < len(lines) and (
            not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > margin
        ):
            body.append(lines[at])
            at += 1
        indent = min((_indent(line) for line in body if line.strip()), default=0)
        language = "" if match["language"] in _NO_LANGUAGE else match["language"]
        result += ["", f"{_FENCE}{language or 'text'}", *(line[indent:] for line in body), _FENCE, ""]
    return "\n".join(result)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _markdown_table(match: re.Match[str]) -> str:
    """The rows between pipes; the table as it is if one has another count of cells."""
    rows = [_CELL.split(row)[1:] for row in _ROW.split(match["rows"])[1:]][:_MOST_ROWS]
    texts = [[_SPACE.sub(" ", _TAG.sub("", cell)).strip() for cell in row] for row in rows if row]
    if (
        len(texts) < 2
        or len({len(row) for row in texts}) != 1
        or any("|" in cell for row in texts for cell in row)
    ):
        return match[0]
    rule = ["---"] * len(texts[0])
    return "\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in (texts[0], rule, *texts[1:])) + "\n\n"


def with_indented_outputs(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, in which indented printed lines count as a fence, below code or a short caption."""
    result: list[Block] = []
    has_code = False
    for block in blocks:
        above = result[-1] if result else None
        is_below = above is not None and (
            above.kind == "code" or (above.kind == "prose" and len(above.text.split()) <= _MOST_WORDS)
        )
        is_output = (
            has_code and is_below and block.kind == "code" and not block.fenced and _is_printed(block.text)
        )
        result.append(replace(block, fenced=True, language="text") if is_output else block)
        has_code = has_code or (block.kind == "code" and bool(take_apart(block.text).code))
    return result


def with_data_as_output(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, in which JSON and the like below a caption such as `Bad output` is output, and no file."""
    result: list[Block] = []
    for block in blocks:
        caption = result[-1].text.strip().rpartition("\n")[2] if result and result[-1].kind != "code" else ""
        is_data = block.kind == "code" and block.fenced and block.language in _DATA
        result.append(replace(block, language="text") if is_data and _is_caption(caption) else block)
    return result


def _is_caption(line: str) -> bool:
    return any(
        is_side(line)
        for is_side in (is_seen_caption, is_expected_caption, is_older_caption, is_newer_caption)
    )


def _is_printed(text: str) -> bool:
    every = text.split("\n")
    taken = numbers_of_lines(warnings_shown(every))
    lines = [line for at, line in enumerate(every) if line.strip() and at not in taken]
    is_short = 0 < len(lines) <= _MOST_LINES
    return is_short and all(map(is_printed_line, lines)) and not take_apart("\n".join(lines)).code
