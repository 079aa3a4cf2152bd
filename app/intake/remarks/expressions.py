"""Puts backticks around formulas in sentences, as `it should be pi/4`, so that they are read as one value."""

from __future__ import annotations

import ast
import re

from app.intake.code.syntax import nodes_of, tree_of

_RUN = r"[A-Za-z0-9_.()*/^+,-]++"
_FORMULA = re.compile(rf"(?<![\w`'\"]){_RUN}(?: (?:\*\*|[*/^+-]) {_RUN}){{0,20}}")
_KNOWN = re.compile(
    r"sqrt|exp|log|ln|a?(?:sin|cos|tan)h?|sec|csc|cot|gamma|erfc?|zeta|factorial|binomial|Abs|Rational|Fraction"
    r"|LambertW|Ei|Si|Ci|polylog|loggamma|conjugate|sign|floor|ceiling|pi|z?oo|EulerGamma|Integer|Piecewise|Max|Min"
    r"|besselj|re|im|arg|root"
)
_OWN_FORMULAS = re.compile(
    r"\b(?:sympy|fractions|Fraction)\b|(?<![\w.])(?:integrate|summation|simplify|dsolve|solveset|symbols|Rational)\("
)
_EULER = re.compile(r"(?<![\w.])e(?![\w(])")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")
_MOST_LINE = 2_000
_MOST_FORMULA = 300
_LINK = re.compile(r"(?<!`)\[([^\[\]\n]{1,200})\]\(https?://[^()\s]{1,400}\)")
# Between backticks, `**` is code.
_BOLD = re.compile(r"(`[^`\n]*`)|\*\*")


def prints_formulas(script: str) -> bool:
    """Whether a script may print formulas: it uses sympy or fractions."""
    return _OWN_FORMULAS.search(script) is not None


def with_quoted_formulas(text: str) -> str:
    """The text with backticks around its formulas. Quoted text stays."""
    return "\n".join(_line(line) if len(line) <= _MOST_LINE else line for line in text.split("\n"))


def plain_words(text: str) -> str:
    """The text without the marks of bold type and of links."""
    return _LINK.sub(r"\1", _BOLD.sub(lambda match: match[1] or "", text).replace("__ ", " "))


def plain_with_formulas(text: str) -> str:
    """The plain text with backticks around its formulas."""
    return plain_words(with_quoted_formulas(text))


def _line(line: str) -> str:
    pieces: list[str] = []
    at = 0
    for quoted in _QUOTED.finditer(line):
        pieces += [_FORMULA.sub(_quote, line[at : quoted.start()]), quoted[0]]
        at = quoted.end()
    return "".join([*pieces, _FORMULA.sub(_quote, line[at:])])


def _quote(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) > _MOST_FORMULA:
        return text
    bare = text.rstrip(".,")
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(".,")
    formula = _EULER.sub("E", bare.replace("^", "**"))
    return f"`{formula}`{text[len(bare) :]}" if _is_formula(formula) else text


def _is_formula(text: str) -> bool:
    """Whether it is an expression of known names, numbers and letters, and no single number."""
    tree = tree_of(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return False
    nodes = nodes_of(tree)
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    numbers = [node for node in nodes if isinstance(node, ast.Constant)]
    if any(isinstance(node, ast.Attribute | ast.Tuple | ast.keyword) for node in nodes):
        return False
    if not all(_KNOWN.fullmatch(name) or len(name) == 1 for name in names):
        return False
    if not names:
        # `3/2` is a fraction, `3-4` a range.
        return any(isinstance(node, ast.Div | ast.Pow) for node in nodes)
    known = any(_KNOWN.fullmatch(name) or name in {"E", "I"} for name in names)
    value = tree.body[0].value
    return (known or bool(numbers)) and (
        isinstance(value, ast.BinOp | ast.Call)
        or (known and isinstance(value, ast.Name | ast.UnaryOp) and len(text) > 1)
    )
