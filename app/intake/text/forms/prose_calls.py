"""Finds the statements that the sentences of a report name, where it shows no other code."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.names import bound_names, undefined_names
from app.intake.code.syntax import nodes_of, tree_of
from app.intake.sessions.shell_names import shell_imports
from app.intake.words.distributions import KNOWN_MODULES
from app.intake.words.public_names import import_of_module

_ALIASES = frozenset(
    (
        "torch",
        "numpy",
        "pandas",
        "scipy",
        "statistics",
        "calendar",
        "np",
        "pd",
        "plt",
        "nx",
        "tf",
        "jnp",
        "xr",
        "pl",
        "os",
        "sys",
        "re",
        "json",
        "math",
    )
)
_TICKED = re.compile(r"(?<!`)`([^`\n]{2,300})`(?!`)")
# A call in words: at the beginning of a line, behind a colon, or behind a word such as `calling`.
_BARE = re.compile(
    r"(?:^|[:：] ?|\b(?i:call(?:ing)?|run(?:ning)?|evaluat(?:e|ing)|execut(?:e|ing)|Вызов|code|código) )"
    r"(?=(?P<call>[A-Za-z_][\w.]{0,60}\([^\n`]{0,300}))"
)
# The words behind such a call say what it does.
_DOES = re.compile(
    r"[ \t]*(?:$|(?:now |still |wrongly |always )?(?:returns?|gives?|yields?|prints?|outputs?|evaluates? to"
    r"|raises?|throws?|is\b|возвращает|выда[её]т|выводит|devuelve|gibt|liefert|ergibt|renvoie|retourne)"
    r"|返回|输出|的结果|を返)"
)
_MOST_SNIPPETS = 30
_MOST_LINES = 60
_MOST_ENDS = 12
_MOST_LINE = 400


def statements_of_ticks(texts: Sequence[str]) -> tuple[int, str] | None:
    """(text, statements) between backticks, of which one names a value and a later one uses it."""
    snippets = [(at, match[1].strip()) for at, text in enumerate(texts) for match in _TICKED.finditer(text)]
    statements: list[str] = []
    known: set[str] = set()
    places: list[int] = []
    for at, snippet in snippets[:_MOST_SNIPPETS]:
        tree = tree_of(snippet)
        if tree is None or snippet in statements or not _is_statement(tree, known):
            continue
        statements.append(snippet)
        places.append(at)
        known |= bound_names(tree)
    last = tree_of(statements[-1]) if len(statements) > 1 else None
    uses = last is not None and isinstance(last.body[0], ast.Expr) and not bound_names(last)
    is_used = uses and last is not None and bool(set(undefined_names(last)) & known)
    return (places[0], "\n".join(statements)) if is_used else None


def _is_statement(tree: ast.Module, known: set[str]) -> bool:
    """Whether it imports, names a value, or computes with names that are known."""
    if len(tree.body) != 1 or not _is_closed(tree, known):
        return False
    statement = tree.body[0]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Assign | ast.AugAssign):
        return all(isinstance(each, ast.Name) for each in getattr(statement, "targets", ()))
    return isinstance(statement, ast.Expr) and bool(set(undefined_names(tree)) & known)


def call_of_words(texts: Sequence[str]) -> tuple[int, str] | None:
    """(text, call) that a sentence names without any marks, and of which it says what it does."""
    lines = [(at, line) for at, text in enumerate(texts) if "(" in text for line in text.split("\n")]
    for at, line in lines[:_MOST_LINES]:
        match = _BARE.search(line) if "(" in line and len(line) <= _MOST_LINE else None
        if match and (call := _whole_call(match["call"])):
            return at, call
    return None


def _whole_call(text: str) -> str:
    """The longest beginning that is a call with values of its own, and behind which stands what it does."""
    ends = [match.end() for match in re.finditer(r"\)|\]|\d(?= |$)", text)][:_MOST_ENDS]
    for end in reversed(ends):
        tree = tree_of(text[:end]) if _DOES.match(text[end:]) else None
        if tree is not None and len(tree.body) == 1 and _is_closed(tree, set()) and _has_values(tree):
            return text[:end]
    return ""


def _is_closed(tree: ast.Module, known: set[str]) -> bool:
    """Whether its names are known to everybody, or to the statements above."""
    names = set(undefined_names(tree)) - known - _modules(tree)
    is_open = any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes_of(tree))
    return not is_open and (
        names <= _ALIASES | KNOWN_MODULES or shell_imports(ast.unparse(tree), tree) is not None
    )


def _modules(tree: ast.Module) -> set[str]:
    """The names that are modules by what is used of them."""
    attributes: dict[str, set[str]] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
    return {name for name, used in attributes.items() if import_of_module(name, used, ())}


def _has_values(tree: ast.Module) -> bool:
    statement = tree.body[0]
    calls = [
        node
        for node in nodes_of(tree)
        # `print(1)` alone computes nothing.
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id == "print")
    ]
    is_formula = bool(undefined_names(tree)) and shell_imports(ast.unparse(tree), tree) is not None
    return isinstance(statement, ast.Expr) and any(
        is_formula or any(isinstance(part, ast.Constant) for part in nodes_of(argument))
        for call in calls
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
    )
