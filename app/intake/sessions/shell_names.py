"""Names that an interactive shell brings along, such as those of `isympy` and `%pylab`."""

from __future__ import annotations

import ast
import re

from app.intake.code.names import undefined_names

# A script that uses one of these without an import was typed where all of sympy is imported.
_OF_SYMPY_ONLY = frozenset(
    (
        *("integrate", "Symbol", "symbols", "simplify", "dsolve", "oo", "summation", "Rational", "Integral"),
        *("Sum", "Derivative", "nsolve", "solveset", "Eq", "Piecewise", "trigsimp", "radsimp", "powsimp"),
        *(
            "nsimplify",
            "laplace_transform",
            "fourier_transform",
            "Heaviside",
            "DiracDelta",
            "sympify",
            "limit",
        ),
        *(
            "series",
            "apart",
            "together",
            "cancel",
            "factorint",
            "isprime",
            "refine",
            "Wild",
            "Interval",
            "FiniteSet",
        ),
        *("reduce_inequalities", "solve_univariate_inequality", "besselj", "meijerg", "hyper", "Product"),
    )
)
_OF_SYMPY = _OF_SYMPY_ONLY | frozenset(
    (
        *(
            "sqrt",
            "sin",
            "cos",
            "tan",
            "cot",
            "sec",
            "csc",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "tanh",
        ),
        *(
            "exp",
            "log",
            "ln",
            "pi",
            "E",
            "I",
            "S",
            "N",
            "Abs",
            "sign",
            "re",
            "im",
            "arg",
            "conjugate",
            "gamma",
        ),
        *(
            "erf",
            "zeta",
            "factorial",
            "binomial",
            "floor",
            "ceiling",
            "Max",
            "Min",
            "Mod",
            "Integer",
            "Float",
        ),
        *(
            "Matrix",
            "eye",
            "zeros",
            "ones",
            "diag",
            "diff",
            "solve",
            "expand",
            "factor",
            "collect",
            "Function",
        ),
        *("Lambda", "lambdify", "Poly", "roots", "And", "Or", "Not", "Q", "zoo", "nan", "Interval", "Union"),
        *("EmptySet", "Reals", "LambertW", "Ei", "Si", "Ci", "gcd", "lcm", "root", "cbrt", "srepr", "latex"),
        *("pprint", "init_printing", "subfactorial", "polylog", "loggamma", "expand_trig", "logcombine"),
    )
)
# The shell `isympy` has these beside the names of sympy.
_SYMBOLS = {
    "x y z t": "symbols('x y z t')",
    "k m n": "symbols('k m n', integer=True)",
    "f g h": "symbols('f g h', cls=Function)",
}
_OF_ISYMPY = frozenset(name for names in _SYMBOLS for name in names.split())
# Names of unknowns in a formula. A script that defines none of them means symbols.
_UNKNOWN = re.compile(
    r"[a-zA-Z]\d?$|(?:alpha|beta|gamma|delta|epsilon|theta|lamda|lambda_|mu|nu|rho|sigma|tau|phi|psi|omega)\d?$"
)
_PYLAB = re.compile(r"^[# \t]*%pylab\b", re.MULTILINE)
_MOST_CHARACTERS = 100_000


def shell_imports(text: str, tree: ast.Module) -> str | None:
    """The statements that give a script the names of its shell; None if it needs none, or if no shell fits.

    `isympy` also defines its usual symbols, but only those that the script uses and does not define. In a
    lone statement, other names of unknowns are symbols, too.
    """
    names = frozenset(undefined_names(tree))
    if not names:
        return None
    if _PYLAB.search(text[:_MOST_CHARACTERS]):
        return "from pylab import *"
    # Several statements may go on with what another block defines.
    others = sorted(
        name for name in names - _OF_SYMPY - _OF_ISYMPY if len(tree.body) == 1 and _UNKNOWN.match(name)
    )
    if not names & _OF_SYMPY_ONLY or not names <= _OF_SYMPY | _OF_ISYMPY | {*others}:
        return None
    symbols = [
        f"{', '.join(group.split())} = {value}"
        for group, value in _SYMBOLS.items()
        if names & frozenset(group.split())
    ]
    if others:
        symbols.append(f"{', '.join(others)} = symbols('{' '.join(others)}')")
    return "; ".join(["from sympy import *", *symbols])
