"""Leaves out the errors of a session that the report is not about: the session went on after them.

`>>> f(y)` fails, the author types `>>> f(x)`, and speaks of its value. The statement stays where it is, and
the script goes on after it, as the interpreter did. A statement that could not even begin goes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from app.intake.claim.claim_text import sentences_in
from app.intake.code.syntax import tree_of
from app.intake.sessions.session_cells import Cell, cells_of
from app.intake.text.markdown import Block
from app.intake.words.vocabulary import FLAGS

_MOST_WORDS = 8_000
_MOST_SENTENCE = 600
_FAILURE = re.compile(
    r"\b(?:error\w*|exceptions?|fail\w*|rais\w+|throw\w*|crash\w*|traceback|break\w*|broken|refus\w+|reject\w*"
    r"|complain\w*|missing|lacks?|exists?|support\w*|accept\w*|allow\w*|works?|working|both|either|valid\w*"
    r"|invalid\w*|possible|impossible|unable|cannot)\b|\bcan['’]?t\b",
    FLAGS,
)
# `I expect 27 for the first` speaks of a statement above the last one.
_EARLIER = re.compile(
    r"\b(?:first|former|second|other|latter)(?= (?:call|line|statement|one|case|command|example|expression"
    r"|input|try|attempt|prompt)\b|[.,;:)]|$)",
    FLAGS | re.MULTILINE,
)
# `The first error is fine, of course`, `the typo is mine`, `it fails, as it should`.
_EXCUSED = re.compile(
    r"\b(?:typo|mistyped|my (?:own )?(?:mistake|fault|slip))\b"
    r"|\b(?:errors?|exception|failure|traceback|\w{1,40}Error)\b[^.;\n]{0,40}?\b(?:is|are|was)\b"
    r"(?: (?:of course|all|quite|just|only|perfectly|the)){0,2}"
    r" (?:fine|ok(?:ay)?|right|correct|expected|my own|mine|clear|unrelated|intended|harmless)\b"
    r"|\b(?:ignore|never mind|forget)\b[^.;\n]{0,40}\b(?:error|exception|traceback|\w{1,40}Error|failure)\b",
    FLAGS,
)
# The words that say which value is right, with the value.
_WISHED = re.compile(
    r"\b(?:(?:should|must|has to|ought to|would) (?:be|give|return|print|show|yield|equal)"
    r"|expect(?:ed|ing)?|want(?:ed)?|instead of|rather than)\b(?: [a-z]{1,12}){0,3}?[ :]{1,2}[`'\"“*]{0,3}"
    r"(?P<value>[-+]?\d[\w.+-]{0,40}|(?i:nan|inf|none|true|false|nat|zero)\b|(?<=[`'\"])[^`\n]{1,200}(?=`)"
    r"|[(\[{][^\n]{1,200}[)\]}])",
    FLAGS,
)
# Statements that were never begun, or whose names do not exist.
_NEVER_BEGUN = ("NameError", "SyntaxError", "IndentationError")
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words around a session: without sentences that excuse an error, and whether there were any."""

    text: str
    excuses: bool

    @property
    def speak_of_failure(self) -> bool:
        return _FAILURE.search(self.text) is not None or _EARLIER.search(self.text) is not None

    def name(self, names: set[str]) -> bool:
        return not names.isdisjoint(_NAME.findall(self.text))


def without_errors_in_passing(blocks: Sequence[Block], title: str = "") -> list[Block]:
    """The blocks, in which such a session shows no such error. `failing` has the statements."""
    if not any(block.kind == "code" and ("Error" in block.text or "Trace" in block.text) for block in blocks):
        return list(blocks)
    texts = [title, *(block.text for block in blocks if block.kind != "code" and not block.quoted)]
    words = cache(lambda: _words_of(texts))
    return [_went_on(block, words) if block.kind == "code" else block for block in blocks]


def _words_of(texts: Sequence[str]) -> _Words:
    sentences = [sentence[:_MOST_SENTENCE] for sentence in sentences_in("\n\n".join(texts)[:_MOST_WORDS])]
    rest = [sentence for sentence in sentences if not _EXCUSED.search(sentence)]
    return _Words("\n".join(rest), excuses=len(rest) < len(sentences))


def _went_on(block: Block, words: Callable[[], _Words]) -> Block:
    cells = cells_of(block.text)
    answered = [cell for cell in cells if cell.answer]
    errors = [cell for cell in answered[:-1] if cell.error]
    if not errors or not all(_is_in_passing(cell, answered[-1], words()) for cell in errors):
        return block
    lines = block.text.split("\n")[: cells[0].start]
    for cell in cells:
        if cell not in errors:
            lines += cell.lines
        elif not cell.error.startswith(_NEVER_BEGUN):
            lines += cell.without_error
    failing = tuple(cell.typed for cell in errors if not cell.error.startswith(_NEVER_BEGUN))
    return replace(block, text="\n".join(lines), failing=failing)


def _is_in_passing(cell: Cell, last: Cell, words: _Words) -> bool:
    """Whether the report speaks of the last answer, and of this error at most to excuse it."""
    if not _can_go_on(cell) or cell.error == last.error:
        return False
    only_here, only_last = _names_in(cell) - _names_in(last), _names_in(last) - _names_in(cell)
    if (
        words.name(only_here)
        or cell.typed.strip() in words.text
        or (_type_of(cell) in words.text and not words.excuses)
    ):
        return False
    if last.error:
        return words.excuses or words.name(only_last)
    if words.speak_of_failure:
        return False
    return words.excuses or _is_other_value_wished(last, words)


def _is_other_value_wished(last: Cell, words: _Words) -> bool:
    answer = " ".join(last.answer)
    wished = [match["value"].strip("`'\"*., ") for match in _WISHED.finditer(words.text)]
    return any(value and value not in answer for value in wished)


def _type_of(cell: Cell) -> str:
    return cell.error.partition(":")[0].rpartition(".")[2].strip()


def _can_go_on(cell: Cell) -> bool:
    """Whether it is one simple statement, or one that never began."""
    if cell.error.startswith(_NEVER_BEGUN):
        return True
    tree = tree_of(cell.typed)
    return (
        tree is not None
        and len(tree.body) == 1
        and isinstance(tree.body[0], ast.Expr | ast.Assign | ast.AugAssign | ast.Delete | ast.Assert)
    )


def _names_in(cell: Cell) -> set[str]:
    """The names that a statement calls, and those of the attributes that it reads."""
    tree = tree_of(cell.typed)
    nodes = [] if tree is None else list(ast.walk(tree))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {
        node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
