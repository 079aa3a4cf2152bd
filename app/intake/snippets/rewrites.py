"""Rewrites pasted code until it can be parsed, by named repairs.

Lines keep their numbers, but for statements that stood on one line without a sign between them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from app.intake.code.mends.old_python import may_be_old, with_new_syntax
from app.intake.code.mends.slips import with_last_bracket, with_right_indents
from app.intake.code.names import undefined_names
from app.intake.code.python2 import with_print_calls
from app.intake.code.syntax import parses, tree_of
from app.intake.code.typography import has_typography, plain_characters
from app.intake.reading import Repair
from app.intake.sessions.joined_lines import MAY_BE_JOINED, with_lines

_ENTITY = re.compile(r"&(?:gt|lt|amp|quot|apos|nbsp|#39|#34|#x27|#x22|#160);")
_NAMED_BY_ENTITIES = {"gt", "lt", "amp", "quot", "apos", "nbsp"}
_PRINT = re.compile(r"\bprint(?:[ \t]{1,40}[^\s=.]|[\"'`>]|[ \t]{0,40}$)", re.MULTILINE)
# A longer text is not rewritten.
_MOST_CHARACTERS = 1 << 18
JOINED = "joined_statements"
_DETAILS = {
    "smart_quotes": "Made typographic quotes plain ones.",
    "smart_dashes": "Made dashes minus signs.",
    "invisible_characters": "Removed spaces and marks that only look like nothing.",
    "full_width_characters": "Made full-width signs plain ones.",
    "line_numbers": "Removed the numbers of the lines.",
    JOINED: "Put each statement on a line of its own.",
    "bold_remarks": "Made remarks in bold comments.",
    "missing_bracket": "Closed the bracket that the last line leaves open, or removed one too many.",
    "html_entities": "Read `&gt;` and the like as the signs that they stand for.",
}
# `**Works!**` between statements.
_BOLD = re.compile(r"^[ \t]{0,40}\*\*(?P<remark>[^*\n]{1,400})\*\*[ \t]{0,40}$", re.MULTILINE)
_LINE_NUMBER = re.compile(r"[ \t]{0,6}(\d{1,5})(?:[:.|]? |[:.|]?$)(.*)$")
_LEAST_NUMBERED = 2


def make_readable(text: str) -> tuple[str, tuple[Repair, ...]]:
    """The text as it can be parsed, and the repairs.

    The text stays as given if it needs none, or if none helps.
    """
    if len(text) > _MOST_CHARACTERS or (parses(text) and not _names_entities(text)):
        return text, ()
    result, repairs = text, tuple[Repair, ...]()
    if not _has_traces(text):
        return _without_slip(text)
    for rewrite in _REWRITES:
        result, new_repairs = rewrite(result)
        repairs += new_repairs
        if new_repairs and parses(result):
            return result, repairs
    split = with_lines(result)
    if split != result:
        return split, (*repairs, _repair(JOINED))
    mended, slips = _without_slip(result)
    return (mended, (*repairs, *slips)) if slips else (text, ())


def _without_slip(text: str) -> tuple[str, tuple[Repair, ...]]:
    """The text without its one slip; as it is if it has none, or more."""
    mended, is_mended = with_last_bracket(text)
    if is_mended:
        return mended, (_repair("missing_bracket"),)
    mended, places = with_right_indents(text)
    detail = f"Gave lines at {places} places an indent that Python takes."
    return mended, (Repair(code="indent_of_lines", detail=detail),) if places else ()


def with_all_rewrites(text: str) -> str:
    """The text with all rewrites, whether or not it can be parsed then."""
    if len(text) > _MOST_CHARACTERS or not _has_traces(text):
        return text
    for rewrite in _REWRITES:
        text, _ = rewrite(text)
    return text


def _has_traces(text: str) -> bool:
    first = text.lstrip("\n").split("\n", 1)[0]
    return (
        _ENTITY.search(text) is not None
        or has_typography(text)
        or _PRINT.search(text) is not None
        or bool(_LINE_NUMBER.match(first))
        or _BOLD.search(text) is not None
        or may_be_old(text)
        or MAY_BE_JOINED.search(text) is not None
    )


def _names_entities(text: str) -> bool:
    """True for `y = x &gt; 0`: it can be parsed as two statements, but uses an undefined name."""
    if _ENTITY.search(text) is None:
        return False
    tree = tree_of(text)
    return tree is not None and bool(set(undefined_names(tree)) & _NAMED_BY_ENTITIES)


def _entities(text: str) -> tuple[str, tuple[Repair, ...]]:
    plain = _ENTITY.sub(lambda match: html.unescape(match[0]).replace("\u00a0", " "), text)
    return plain, () if plain == text else (_repair("html_entities"),)


def _characters(text: str) -> tuple[str, tuple[Repair, ...]]:
    plain, codes = plain_characters(text)
    return plain, tuple(map(_repair, codes))


def _prints(text: str) -> tuple[str, tuple[Repair, ...]]:
    if _PRINT.search(text) is None:
        return text, ()
    result, count = with_print_calls(text)
    return result, (
        Repair(code="python2_print", detail=f"Made {count} print statements of Python 2 calls."),
    ) if count else ()


def _old_syntax(text: str) -> tuple[str, tuple[Repair, ...]]:
    result, count = with_new_syntax(text)
    detail = f"Wrote {count} places of Python 2 as Python 3 has them."
    return result, (Repair(code="python2_syntax", detail=detail),) if count else ()


def _repair(code: str) -> Repair:
    return Repair(code=code, detail=_DETAILS[code])


def _numbers(text: str) -> tuple[str, tuple[Repair, ...]]:
    """Remove the numbers at the beginning of all lines."""
    lines = text.split("\n")
    matches = [_LINE_NUMBER.match(line) for line in lines]
    matches_of_text = [match for match, line in zip(matches, lines, strict=True) if line.strip()]
    numbers = [int(match[1]) for match in matches_of_text if match]
    if not _LEAST_NUMBERED <= len(numbers) == len(matches_of_text) or numbers != list(
        range(numbers[0], numbers[0] + len(numbers))
    ):
        return text, ()
    plain = [match[2] if match else line for match, line in zip(matches, lines, strict=True)]
    return "\n".join(plain), (_repair("line_numbers"),)


def _bold_remarks(text: str) -> tuple[str, tuple[Repair, ...]]:
    result = _BOLD.sub(lambda match: f"# {match['remark'].strip()}", text)
    return (text, ()) if result == text else (result, (_repair("bold_remarks"),))


_REWRITES: tuple[Callable[[str], tuple[str, tuple[Repair, ...]]], ...] = (
    _numbers,
    _entities,
    _characters,
    _bold_remarks,
    _prints,
    _old_syntax,
)
