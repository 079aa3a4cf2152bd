"""Finds the imports that a report tells in its prose: `np` is `jax.numpy` here."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from app.intake.code.names import unbound_names
from app.intake.words.distributions import KNOWN_MODULES

_MODULE = r"`?(?P<module>[a-z]\w{1,30}(?:\.[a-z_]\w{0,30}){0,3})`?(?![\w(])"
# `np` is `jax.numpy`, where np stands for jax.numpy, (np = jax.numpy)
_IS_MODULE = re.compile(
    r"(?<![\w.`])`?(?P<name>[A-Za-z]\w{0,20})`? (?:here |above |below )?"
    r"(?:is|means|being|denotes|stands for|refers to|=|is (?:short|an alias|the alias) (?:for|of))"
    rf" (?:the |here )?(?:module |package )?{_MODULE}"
)
# `grad` comes from `jax`.
_FROM_MODULE = re.compile(
    r"`(?P<name>[A-Za-z]\w{0,40})(?:\(\))?` (?:is |comes |was |being |here )?(?:imported |taken )?from "
    rf"(?:the )?(?:module |package )?{_MODULE}"
)
_STATEMENT = re.compile(r"`(?P<statement>(?:from [\w.]{1,80} )?import [\w ,.]{1,120})`")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_MOST_TEXT = 200_000


def told_imports(text: str) -> dict[str, str]:
    """The import statements that the prose of a report tells, by the names that they bind."""
    # Every second piece is the inside of a fence, where `x = numpy` is code.
    prose = "\n".join(_FENCE.split(text[:_MOST_TEXT])[::2])
    imports: dict[str, str] = {}
    for match in _STATEMENT.finditer(prose):
        imports |= dict.fromkeys(_bound_by(match["statement"]), match["statement"])
    for match in _FROM_MODULE.finditer(prose):
        if _is_known(match["module"]):
            imports.setdefault(match["name"], f"from {match['module']} import {match['name']}")
    for match in _IS_MODULE.finditer(prose):
        name, module = match["name"], match["module"]
        if _is_known(module) and name != module:
            imports.setdefault(name, f"import {module} as {name}")
    return imports


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in KNOWN_MODULES


def _bound_by(statement: str) -> list[str]:
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return []
    names = [
        name for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom) for name in each.names
    ]
    return [name.asname or name.name.partition(".")[0] for name in names if name.name != "*"]


def told_statements(tree: ast.Module, imports: Mapping[str, str]) -> dict[str, str]:
    """The packages, by the told statements that bind the undefined names of a script."""
    names = [name for name in unbound_names(tree) if name in imports]
    return {imports[name]: imports[name].split()[1].partition(".")[0] for name in names}
