"""Reads outputs of several lines in the comments and the docstring of a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import dedent

from app.intake.claim.comments import commented_outputs
from app.intake.claim.stated_place import version_named
from app.intake.code.syntax import tree_of
from app.intake.layout.captions import is_expected_caption, is_seen_caption
from app.intake.layout.labelled_blocks import EXPECTED, SEEN
from app.intake.layout.version_rows import is_result_of_version
from app.intake.snippets.output_marks import commented_output, traceback_start
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.transcripts import does_something
from app.intake.words.vocabulary import is_printed_line, is_prose

_COMMENT = re.compile(r"[ \t]*#(?!!) ?(?P<text>.*)$")
_PRINTS = re.compile(r"[ \t]*(?:print\(|[\w.]+\(.*\)[ \t]*$|[A-Za-z_]\w*[ \t]*$)")
# The script holds the remark as well, so that it would pass for printed words.
_REMARK = re.compile(r"[ \t]{1,40}(?:<[-=]{1,8}|←|⟵)(?!\d)[^\n]{0,200}$")
# The last comment below a print may judge what the others show: `# Fail, 2 NaNs.`, `# fine`.
_JUDGES = re.compile(
    r"(?:(?:this|that|which) (?:is|one is|one)? ?)?"
    r"(?P<word>fail(?:s|ed|ure)?|bad|wrong|incorrect|bug|broken|ok(?:ay)?|fine|good|right|correct|works|passes)"
    r"\b(?:\W{0,4}$|[,.;!?–—(-]{1,3} ?\D[^\n]{0,200}$|, ?\d[^\n]{0,200}$)",
    re.IGNORECASE,
)
_COLUMNS = re.compile(r"\S{1,40}(?: {2,40}\S{1,40}){1,40}")
# The caption of one of several outputs in one block: `# Result with 1.19, which is right`.
_CAPTION = re.compile(r"#{1,3} ?(?P<words>[^\W\d_][^\n]{1,300})$")
_CALLED_RIGHT = re.compile(
    r"\b(?:right|correct\w*|expected|good|fine|ok|should|want(?:ed)?|before)\b", re.IGNORECASE
)
_CALLED_WRONG = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|bad|bug|broken|unexpected\w*|not (?:right|correct|expected|ok|fine)"
    r"|actual\w*|get|got|now)\b",
    re.IGNORECASE,
)
_MOST_SECTIONS = 6
_MOST_LINES = 2_000
_MOST_LINE = 400
_MOST_CAPTION = 60
_MOST_WORDS = 4
_LEAST_LINES = 2


def with_commented_outputs(parts: Sequence[Part]) -> list[Part]:
    """The parts, with outputs behind a script for the blocks in its comments that show them."""
    result: list[Part] = []
    for part in parts:
        result.append(part)
        has_words = any(sign in part.text for sign in ("#", '"""', "'''"))
        if part.kind is PartKind.CODE and not part.transcript and has_words:
            result += [
                Part(PartKind.OUTPUT, text, part.heading, caption) for caption, text in _outputs(part.text)
            ]
    return result


def _outputs(code: str) -> list[tuple[str, str]]:
    """(caption, lines) of what the script prints, and of what it should print."""
    lines = code.split("\n")[:_MOST_LINES]
    sides: dict[str, list[str]] = {}
    for text in (*_comments(lines), *_strings(code)):
        for caption, section in _sections(text):
            sides.setdefault(caption, []).extend(section)
    for text in _strings(code):
        if (start := traceback_start(text)) is not None:
            sides.setdefault(SEEN, []).extend(text[start:])
    if not commented_outputs(code)[0]:
        below = [line for run in _runs_below_prints(lines) for line in run]
        if below:
            sides.setdefault(SEEN, below)
    versions = set(sides) - {SEEN, EXPECTED}
    is_told = SEEN in sides or len(versions) > 1
    return [(caption, "\n".join(section)) for caption, section in sides.items() if is_told]


def _comments(lines: Sequence[str]) -> Iterator[list[str]]:
    """The runs of lines that are nothing but comments, without their signs."""
    run: list[str] = []
    for line in [*lines, ""]:
        match = _COMMENT.match(line)
        if match:
            run.append(match["text"])
        elif run:
            yield run
            run = []


def _strings(code: str) -> list[list[str]]:
    """The lines of strings that stand alone: the docstring, and what somebody wrote below the code."""
    tree = tree_of(code)
    values = [each.value for each in tree.body if isinstance(each, ast.Expr)] if tree is not None else []
    texts = [each.value for each in values if isinstance(each, ast.Constant)]
    return [text.split("\n") for text in texts if isinstance(text, str)]


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """(caption, lines) of each caption that has nothing but printed lines below it."""
    caption, section = "", list[str]()
    for line in [*lines, SEEN]:
        words = line.strip()[:_MOST_CAPTION]
        side = _side_of(words)
        if not (words and side):
            section += [line] if line.strip() else []
            continue
        if caption and section and not _is_code(section) and not any(map(_is_sentence, section)):
            yield caption, section
        caption, section = side, []


def _is_sentence(line: str) -> bool:
    """Whether a line is prose. In `   a  b` the first word is the name of a column."""
    return len(line.split()) > 1 and is_prose(line) and _COLUMNS.fullmatch(line.strip()[:_MOST_LINE]) is None


def _is_code(lines: Sequence[str]) -> bool:
    """Whether lines are statements that somebody took out, and not an object as it is shown."""
    text = dedent("\n".join(lines))
    tree = tree_of(text)
    is_shown = tree is not None and all(isinstance(each, ast.Expr) for each in tree.body)
    return does_something(text) and (not is_shown or "print(" in text)


def _side_of(words: str) -> str:
    if is_expected_caption(words):
        return EXPECTED
    return SEEN if is_seen_caption(words) else _version(words)


def _version(words: str) -> str:
    """The words themselves, if they are nothing but the caption of a version."""
    is_short = words.endswith(":") and len(words.split()) <= _MOST_WORDS
    return words if is_short and version_named(words) is not None else ""


def _runs_below_prints(lines: Sequence[str]) -> Iterator[list[str]]:
    """Comments of several printed lines right below a line that prints."""
    at = 0
    text = "\n".join(lines)
    while at < len(lines):
        comments = _run_at(lines, at)
        run = _without_judgement(comments, text)
        above = at - 1 if at and lines[at - 1].strip() else at - 2
        is_below = len(run) >= _LEAST_LINES and above >= 0 and _PRINTS.match(lines[above]) is not None
        # Marked lines are read with the script.
        if is_below and _is_output(run) and not commented_output([f"# {line}" for line in run]):
            yield [_REMARK.sub("", line) for line in run]
        at += max(1, len(comments))


def _run_at(lines: Sequence[str], start: int) -> list[str]:
    run: list[str] = []
    while start + len(run) < len(lines) and (match := _COMMENT.match(lines[start + len(run)])):
        run.append(match["text"])
    return run


def _without_judgement(run: list[str], text: str) -> list[str]:
    """The comments without the last one, if it only judges the others and the script prints no such word."""
    judges = _JUDGES.match(run[-1].strip()[:_MOST_LINE]) if run else None
    is_printed = judges is not None and any(f"{quote}{judges['word']}" in text for quote in "\"'")
    return run[:-1] if judges and not is_printed else run


def _is_output(run: Sequence[str]) -> bool:
    is_printed = all(map(is_printed_line, run)) and not all(map(is_result_of_version, run))
    if any(_side_of(line.strip()[:_MOST_CAPTION]) for line in run):
        return False
    return is_printed and not does_something("\n".join(run))


def with_captioned_sections(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which an output with a comment above each of its sections is one output for each."""
    result: list[Part] = []
    for part in parts:
        sections = (
            _sections_below_captions(part.text) if part.kind is PartKind.OUTPUT and "#" in part.text else []
        )
        result += [replace(part, text=text, before=words) for words, text in sections] or [part]
    return result


def _sections_below_captions(text: str) -> list[tuple[str, str]]:
    """(caption, lines) of each section; empty unless every caption says which output it is."""
    sections: list[tuple[str, list[str]]] = []
    for line in text.split("\n")[:_MOST_LINES]:
        caption = _CAPTION.match(line)
        if caption:
            sections.append((_words_of(caption["words"]), []))
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            return []
    is_told = all(words and any(map(str.strip, lines)) for words, lines in sections)
    if not 1 < len(sections) <= _MOST_SECTIONS or not is_told:
        return []
    return [(words, "\n".join(lines).strip("\n")) for words, lines in sections]


def _words_of(caption: str) -> str:
    """The caption for one side, or the words that name a version; empty if they tell nothing."""
    words = caption.strip()
    if side := _side_of(words[:_MOST_CAPTION]):
        return side if side in {EXPECTED, SEEN} else words
    is_right, is_wrong = _CALLED_RIGHT.search(words), _CALLED_WRONG.search(words)
    if is_wrong:
        return SEEN
    if is_right:
        return EXPECTED
    return words if version_named(words) is not None else ""
