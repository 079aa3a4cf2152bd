"""Splits code that lost its line breaks, as in `import numpy as np a = 5 print(np.sqrt(a))`.

A statement is the longest beginning that can be parsed. The lines of a block that lost its indent are not
told apart, so such code stays as it is.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import warnings
from collections.abc import Sequence

from app.intake.code.syntax import nodes_of, parses, tree_of

# Behind the end of a statement, another one begins.
MAY_BE_JOINED = re.compile(
    r"[\w)\]}'\"][ \t]{1,8}"
    r"(?:import \w|from [\w.]{1,60} import |print ?\(|[A-Za-z_][\w.]{0,60}(?:\(| ?= ?\S))"
)
_BEGINS = re.compile(r"[ \t]*(?:import|from) \w|[ \t]*[A-Za-z_][\w.]{0,60}(?:\(| ?= ?\S)")
_PROMPTS = re.compile(r"(?:^|(?<=\s))>>>(?=\s|$)")
_CELLS = re.compile(r"(?<![ \t])[ \t]++(?=(?:In|Out) ?\[\d{1,6}\]:)")
_PRINTED = re.compile(
    r"[\[({<'\"\d-]|(?:tensor|array|True|False|None|nan|inf|Traceback)\b|[A-Z]\w{2,40}Error: "
)
_MOST_LINE = 4_000
_MOST_TOKENS = 600
# The parser is tried on at most this many beginnings of a line, and on as many behind the last that it took.
_MOST_TRIES = 400
_MOST_AHEAD = 40
_MOST_LINES = 300
_MOST_JOINED = 20
_MOST_CELLS = 200
_LEAST = 3
_OUTSIDE = (ast.Return, ast.Yield, ast.YieldFrom, ast.Break, ast.Continue)


def split_statements(line: str, *, typed: bool = False) -> tuple[list[str], str]:
    """The statements at the beginning of a line, and what is left of it.

    `typed`: the line stood at a prompt, so that values stand behind the statement. A blank before a bracket
    or before the sign of a number ends it then: `f(a) -1.5`, `x.shape (3, 4)`.
    """
    line = line.strip()
    tokens = _tokens_of(line) if len(line) <= _MOST_LINE and "\n" not in line else []
    statements: list[str] = []
    tries = start = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while start < len(tokens) and tokens[start].string != "Traceback":
            end = None
            is_shown = typed or tokens[start].string == "print"
            for at in range(start, len(tokens)):
                if at - (start if end is None else end) > _MOST_AHEAD or tries >= _MOST_TRIES:
                    break
                if not _may_end(tokens, at):
                    continue
                tries += 1
                if _is_one(line[tokens[start].start[1] : tokens[at].end[1]]):
                    end = at
                if end is not None and _has_to_end(tokens, at, typed=typed, is_shown=is_shown):
                    break
            if end is None:
                break
            statements.append(line[tokens[start].start[1] : tokens[end].end[1]])
            start = end + 1
    return statements, line[tokens[start].start[1] :] if start < len(tokens) else "" if tokens else line


def _tokens_of(line: str) -> list[tokenize.TokenInfo]:
    tokens: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(line + "\n").readline):
            if token.type == tokenize.COMMENT or token.string == ";" or len(tokens) > _MOST_TOKENS:
                # Nothing tells where a comment ends.
                return []
            if token.string.strip():
                tokens.append(token)
    except (tokenize.TokenError, SyntaxError):
        return []
    return tokens


def _may_end(tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
    """Whether a blank or nothing stands behind a token."""
    return at + 1 == len(tokens) or tokens[at + 1].start[1] > tokens[at].end[1]


def _has_to_end(tokens: Sequence[tokenize.TokenInfo], at: int, *, typed: bool, is_shown: bool) -> bool:
    """Whether what follows is no part of the statement, though it could be parsed so."""
    if at + 1 == len(tokens):
        return True
    last, following = tokens[at], tokens[at + 1].string
    is_name = last.type == tokenize.NAME
    if keyword.iskeyword(last.string) and last.string not in {"True", "False", "None"}:
        return False
    if (
        not is_name
        and last.type not in {tokenize.NUMBER, tokenize.STRING}
        and last.string not in {")", "]", "}"}
    ):
        return False
    if following in {"(", "["}:
        return following == "[" or not is_name or (typed and last.string != "print")
    glued = at + 2 < len(tokens) and tokens[at + 2].start[1] == tokens[at + 1].end[1]
    if following in {"-", "+"} and glued and tokens[at + 2].type == tokenize.NUMBER:
        return is_shown
    return typed and last.type == tokenize.STRING and tokens[at + 1].type == tokenize.STRING


def _is_one(text: str) -> bool:
    try:
        return len(ast.parse(text).body) == 1
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def is_joined_program(line: str) -> bool:
    """Whether a line is a program of several statements. Words of a sentence are no statements."""
    if not _BEGINS.match(line) or not MAY_BE_JOINED.search(line) or parses(line):
        return False
    statements, rest = split_statements(line)
    return (
        len(statements) >= _LEAST
        and (not rest or _PRINTED.match(rest) is not None)
        and _is_program(statements)
    )


def _is_program(statements: Sequence[str]) -> bool:
    tree = tree_of("\n".join(statements))
    if tree is None or any(isinstance(node, _OUTSIDE) for node in nodes_of(tree)):
        return False
    bound: set[str] = set()
    for statement in tree.body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Name) and value.id not in bound:
            return False
        bound |= {
            node.id
            for node in nodes_of(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in nodes_of(tree))


def with_lines(text: str) -> str:
    """The text with each statement on a line of its own, if it is Python then; else as it is."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES or not MAY_BE_JOINED.search(text):
        return text
    result: list[str] = []
    tried = 0
    for line in lines:
        may_be = tried < _MOST_JOINED and MAY_BE_JOINED.search(line) is not None and not parses(line)
        tried += may_be
        statements, rest = split_statements(line) if may_be else ([], "")
        indent = line[: len(line) - len(line.lstrip())]
        is_split = len(statements) > 1 and not rest
        result += [indent + statement for statement in statements] if is_split else [line]
    return "\n".join(result) if len(result) > len(lines) and _is_program(result) else text


def program_and_output(line: str) -> tuple[str, str]:
    """The program of a line, and what it printed as its author shows it behind it."""
    statements, rest = split_statements(line)
    tree = tree_of("\n".join(statements))
    count = len(statements)
    while tree is not None and count and _is_value(tree.body[count - 1]):
        count -= 1
    return " ".join(statements[:count]), "\n".join(filter(None, [*statements[count:], rest]))


def values_of(line: str) -> list[str]:
    """The values of a line that holds nothing but values, as `5.5 True [1, 2]`; else empty."""
    statements, rest = split_statements(line)
    tree = None if rest else tree_of("\n".join(statements))
    return statements if tree is not None and all(map(_is_value, tree.body)) else []


def _is_value(statement: ast.stmt) -> bool:
    """Whether a statement is a printed value: a number, `True`, `[1, 2]`, `tensor([1.])`, `nan`."""
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in {"tensor", "array"}
    is_printed = isinstance(value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp)
    return is_printed or (isinstance(value, ast.Name) and value.id in {"nan", "inf"})


def session_lines(lines: Sequence[str]) -> list[str]:
    """The lines of a session with each prompt, and what was answered to it, on lines of their own."""
    result: list[str] = []
    left = _MOST_CELLS
    for line in lines[:_MOST_LINES]:
        prompts = [match.start() for match in _PROMPTS.finditer(line)]
        if prompts and not line[: prompts[0]].strip() and len(line) <= _MOST_LINE and len(prompts) <= left:
            left -= len(prompts)
            ends = [*prompts[1:], len(line)]
            cells = [line[start + 3 : end].strip() for start, end in zip(prompts, ends, strict=True)]
            result += _cells_and_answers(line, cells)
        else:
            marks = len(_CELLS.findall(line))
            result += _CELLS.sub("\n", line).split("\n") if 1 < marks <= left else [line]
            left -= marks if 1 < marks <= left else 0
    return [*result, *lines[_MOST_LINES:]]


def fenced_joined_lines(lines: Sequence[str], inside: Sequence[bool], *, fence: str) -> list[str]:
    """The lines with each joined program, and each joined session with an indent, in a fence.

    `inside`: whether a line belongs to a fence.
    """
    result: list[str] = []
    tried = 0
    for line, is_inside in zip(lines, inside, strict=True):
        code = line.strip()
        if is_inside or tried >= _MOST_JOINED:
            result.append(line)
        elif line[:1].isspace() and len(_PROMPTS.findall(code)) + len(_CELLS.findall(code)) > 1:
            tried += 1
            result += ["", f"{fence}pycon", *session_lines([code]), fence, ""]
        else:
            may_be = _BEGINS.match(code) is not None and MAY_BE_JOINED.search(code[:_MOST_LINE]) is not None
            tried += may_be
            is_program = may_be and is_joined_program(code)
            result += ["", f"{fence}python", code, fence, ""] if is_program else [line]
    return result


def _cells_and_answers(line: str, cells: Sequence[str]) -> list[str]:
    """The cells of a line below their prompts, and their answers."""
    if len(cells) == 1 and (parses(cells[0]) or not _is_answered(cells[0])):
        return [line]
    result: list[str] = []
    for cell in cells:
        statements, _ = split_statements(cell, typed=True)
        answer = cell[len(statements[0]) :].strip() if statements else ""
        result += [f">>> {cell.removesuffix(answer).rstrip()}", *filter(None, [answer])]
    return result


def _is_answered(cell: str) -> bool:
    """Whether a cell is a statement and an answer: `f(1) 2`. A single word may be one of a sentence."""
    statements, _ = split_statements(cell, typed=True)
    return (
        bool(statements)
        and not statements[0].isidentifier()
        and _PRINTED.match(cell[len(statements[0]) :].strip()) is not None
    )
