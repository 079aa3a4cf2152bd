"""Puts a fence around statements that stand between paragraphs of prose, without an import and an indent."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.names import bound_names, undefined_names
from app.intake.code.python2 import with_print_calls
from app.intake.code.syntax import nodes_of, tree_of
from app.intake.sessions.shell_names import shell_imports
from app.intake.words.distributions import KNOWN_MODULES
from app.intake.words.public_names import import_of_module

_BEGINS = re.compile(
    r" {0,3}(?:[A-Za-z_][\w.]{0,60}(?:\[[^\]\n]{1,60}\])?(?:\(| ?= ?[^=\s]|, ?\w{1,30} ?= )"
    r"|(?:def|class|for|with|if|while|try)\b.{0,200}:|@\w|(?:import|from) \w)"
)
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*(?:import |from \w|print\(|[A-Za-z_][\w.]{0,60}(?:\(| = ))")
_ARROW = re.compile(r"[ \t]{0,8}(?:[-=]{1,2}>|→)[ \t]{0,4}\S")
_MARKS = re.compile(r"(?:> ?){1,4}(?!>)")
_HEADING = re.compile(r"#{1,6} +\S")
# Names that are used without an import.
_ALIASES = frozenset(
    (
        *("np", "pd", "plt", "nn", "F", "nx", "tf", "jnp", "xr", "pl", "sns", "os", "sys", "time", "math"),
        *(
            "torch",
            "numpy",
            "scipy",
            "pandas",
            "sympy",
            "jax",
            "random",
            "itertools",
            "re",
            "json",
            "datetime",
        ),
    )
)
_MOST_STARTS = 20
_MOST_LINES = 400
_MOST_LINE = 400
# The parser is tried on so many ends in all, and looks over so many paragraphs that are no Python alone.
_MOST_TRIES = 120
_MOST_AHEAD = 2
_LEAST = 2


def fenced_bare_statements(text: str, *, fence: str) -> str:
    """The text with its first run of such statements in a fence.

    They assign and call something, and every name is defined, or is one of a well-known module.
    """
    lines = text.split("\n")
    tries = starts = at = 0
    while at < len(lines) and starts < _MOST_STARTS and tries < _MOST_TRIES:
        if not _BEGINS.match(lines[at][:_MOST_LINE]):
            at += 1
            continue
        starts += 1
        end, tried = _end_of_run(lines, at, _MOST_TRIES - tries)
        tries += tried
        others = [*lines[:at], *lines[end:]]
        if end > at and _is_program(lines[at:end]) and not any(map(_INDENTED.match, others)):
            return "\n".join([*lines[:at], "", f"{fence}python", *lines[at:end], fence, "", *lines[end:]])
        at = max(end, at + 1)
    return text


def fenced_quotation(text: str, *, fence: str) -> str:
    """The text with such statements in a fence that a mail quotes, its lines without their marks."""
    lines = text.split("\n")
    if not any(line.startswith(">") for line in lines):
        return text
    plain = "\n".join(_MARKS.sub("", line, count=1) if line.startswith(">") else line for line in lines)
    if re.search(r"^(?:import|from) \w", plain, re.MULTILINE):
        # A whole script is found without this.
        return text
    program = fenced_bare_statements(plain, fence=fence)
    return program if program != plain else text


def fenced_arrows(text: str, *, fence: str) -> str:
    """The text with calls in a fence that stand in prose, each with an arrow and its value below."""
    if "->" not in text and "=>" not in text and "→" not in text:
        return text
    lines = text.split("\n")
    pairs = [at for at in range(len(lines) - 1) if _ARROW.match(lines[at + 1]) and _is_lone_call(lines[at])]
    if not pairs or len(pairs) > _MOST_STARTS:
        return text
    code = [each for at in pairs for each in (lines[at].strip(), f"# {lines[at + 1].strip()}")]
    taken = {line for at in pairs for line in (at, at + 1)}
    others = [line for at, line in enumerate(lines) if at > pairs[0] and at not in taken]
    return "\n".join([*lines[: pairs[0]], "", f"{fence}python", *code, fence, "", *others])


def _is_lone_call(line: str) -> bool:
    """Whether a line is a call of a well-known module, and names nothing else."""
    tree = tree_of(line.strip()) if 0 < len(line) <= _MOST_LINE else None
    statement = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    return (
        tree is not None
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and set(undefined_names(tree)) <= _ALIASES | KNOWN_MODULES
    )


def _end_of_run(lines: Sequence[str], start: int, most: int) -> tuple[int, int]:
    """The line behind the statements that begin at a line, and how often the parser was tried."""
    most_lines = min(len(lines), start + _MOST_LINES)
    limit = next((at for at in range(start, most_lines) if _is_heading(lines, at)), most_lines)
    breaks = [at for at in range(start + 1, limit + 1) if at == limit or not lines[at].strip()]
    end, failed, tries = start, 0, 0
    for at in breaks:
        if not lines[at - 1].strip():
            continue
        tries += 1
        if _tree(lines[start:at]) is not None:
            end, failed = at, 0
        else:
            failed += 1
        if failed > _MOST_AHEAD or tries >= most:
            break
    # Prose may stand right below the last statement.
    below = next((at for at in breaks if at > end and lines[at - 1].strip()), end)
    first = max(start, end)
    for at in range(below - 1, first, -1):
        if tries >= most:
            break
        tries += 1
        if lines[at - 1].strip() and _tree(lines[start:at]) is not None:
            end = at
            break
    return _without_words(lines, start, end), tries


def _is_heading(lines: Sequence[str], at: int) -> bool:
    """Whether a line is a heading of the report. A comment has code right above or below it."""
    if not _HEADING.match(lines[at]):
        return False
    is_alone = at + 1 == len(lines) or not lines[at + 1].strip()
    return (at == 0 or not lines[at - 1].strip()) and (is_alone or lines[at].startswith("##"))


def _without_words(lines: Sequence[str], start: int, end: int) -> int:
    """The line behind the last statement that is more than a word: `Thanks` can be parsed."""
    tree = _tree(lines[start:end])
    body = tree.body if tree else []
    bound = bound_names(tree) if tree else set()
    for statement in reversed(body):
        value = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(value, ast.Name) or value.id in bound:
            break
        end = start + statement.lineno - 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _tree(lines: Sequence[str]) -> ast.Module | None:
    """The tree of the lines, also if they print as in Python 2; None if they are no Python."""
    text = "\n".join(lines)
    tree = tree_of(text)
    return tree_of(with_print_calls(text)[0]) if tree is None and "print " in text else tree


def _prints(node: ast.AST) -> bool:
    """Whether it is a statement that prints the value of a call."""
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "print"
        and any(isinstance(part, ast.Call) for each in call.args for part in ast.walk(each))
    )


def _is_program(lines: Sequence[str]) -> bool:
    tree = _tree(lines)
    if tree is None or (len(tree.body) < _LEAST and not _prints(tree.body[0])):
        return False
    nodes = nodes_of(tree)
    attributes: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
    modules = {
        name
        for name, used in attributes.items()
        if name in _ALIASES | KNOWN_MODULES or import_of_module(name, used, ())
    }
    return (
        any(isinstance(node, ast.Assign | ast.Import | ast.ImportFrom) or _prints(node) for node in nodes)
        and any(isinstance(node, ast.Call) for node in nodes)
        and (set(undefined_names(tree)) <= modules or shell_imports("\n".join(lines), tree) is not None)
    )
