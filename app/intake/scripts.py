"""Code as it is run: normalised line ends, named repairs, digest, needs."""

from __future__ import annotations

import ast
import hashlib
import platform
import textwrap
import warnings

from app.errors import InputError
from app.intake.needs import needs_of
from app.intake.randomness import is_unseeded
from app.intake.reading import Repair, Script, ScriptRole

MOST_NESTING = 90


def normalised(text: str) -> str:
    """The text with Unix line ends, no byte order mark, no common indent, and one newline at its end."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return textwrap.dedent(text.strip("\n")).rstrip() + "\n"


def digest_of(script: str) -> str:
    """`sha256:` and the SHA-256 of the script."""
    return "sha256:" + hashlib.sha256(script.encode(errors="surrogatepass")).hexdigest()


def parsed(script: str) -> ast.Module:
    """The syntax tree. Raises InputError with line and column, and which Python refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(script)
    except SyntaxError as error:
        where = f"line {error.lineno}, column {error.offset}" if error.lineno else "an unknown line"
        raise InputError(
            f"Python {platform.python_version()} can't parse the script: {error.msg} at {where}.", code="syntax_error", field="script"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "it holds a NUL byte" if "\0" in script else "it is nested too deeply"
        raise InputError(f"Python can't parse the script: {reason}.", code="syntax_error", field="script") from error


def is_python(text: str) -> bool:
    """Whether the text parses and does something: an import, a call, an assignment, a definition."""
    try:
        tree = parsed(normalised(text))
    except InputError:
        return False
    telling = (ast.Import, ast.ImportFrom, ast.Call, ast.Assign, ast.FunctionDef, ast.ClassDef, ast.For, ast.With)
    return any(isinstance(node, telling) for node in ast.walk(tree)) and not _is_bare_data(tree)


def _is_bare_data(tree: ast.Module) -> bool:
    """`tensor(1.)` or `[1, 2]` alone are what a program prints, not a program."""
    for statement in tree.body:
        if not isinstance(statement, ast.Expr):
            return False
        value = statement.value
        if isinstance(value, ast.Call) and not (isinstance(value.func, ast.Name) and value.func.id in {"tensor", "array", "Parameter"}):
            return False
    return True


def make_script(as_given: str, *, role: ScriptRole = ScriptRole.MAIN) -> Script:
    """A script as given and as run. Raises InputError when it can't be parsed."""
    text = normalised(as_given)
    tree = parsed(text)
    text, repairs = _repaired(text, tree)
    tree = parsed(text) if repairs else tree
    return Script(
        role=role,
        as_given=as_given,
        script=text,
        repairs=repairs,
        digest=digest_of(text),
        needs=needs_of(tree),
        unseeded=is_unseeded(tree),
    )


# Names that reports use without importing them, and what they mean.
_USUAL = {"torch": "import torch", "np": "import numpy as np", "nn": "from torch import nn", "F": "import torch.nn.functional as F"}


def _repaired(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """Add the usual imports that a fragment leaves out. It goes on the first line, so that line numbers stay as given."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                return text, ()
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    missing = [name for name in _USUAL if name in used and name not in bound]
    if not missing or "torch" not in used | bound:
        return text, ()
    line = "; ".join(_USUAL[name] for name in missing)
    first, _, rest = text.partition("\n")
    if first.lstrip().startswith(("from __future__", '"""', "'''", "#!")) or not first or first[0].isspace():
        return f"{line}\n{text}", tuple(_added(name) for name in missing)
    joined = f"{line}; {first}\n{rest}"
    try:
        parsed(joined)
    except InputError:
        joined = f"{line}\n{text}"
    return joined, tuple(_added(name) for name in missing)


def _added(name: str) -> Repair:
    return Repair(code="missing_import", detail=f"Added: {_USUAL[name]}", line=1)
