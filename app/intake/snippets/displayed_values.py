"""Makes a script print the values that a prompt or a notebook would have displayed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from app.intake.claim.comments import assigns_result, lines_with_values
from app.intake.code.syntax import dotted_name, nodes_of, parses, tree_of

# A session with more expressions than this is left as it is.
_MOST_SHOWN = 500
_BARE = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple)
DISPLAY = '__import__("sys").displayhook('


def with_displayed_values(code: str) -> tuple[str, int]:
    """The code with bare expressions displayed by `sys.displayhook`, as at a prompt; and their number."""
    tree = tree_of(code)
    if tree is None:
        return code, 0
    return _display(
        code,
        [
            statement
            for statement in tree.body
            if isinstance(statement, ast.Expr) and not _prints(statement.value)
        ],
    )


def with_displayed_last_value(code: str, *, calls: bool = False, values: int = 0) -> tuple[str, int]:
    """The same for code without prompts, such as a cell of a notebook.

    Displayed are the value of the last line, values with a comment beside them, and bare names and
    operations.
    Other calls return values too, but nobody looks at them. In code that prints, it is only the last line,
    and only with `calls`. If there are as many bare expressions as `values`, several, all of them are.
    """
    tree = tree_of(code)
    if tree is None or not tree.body:
        return code, 0
    if any(_prints(node) for node in nodes_of(tree) if isinstance(node, ast.Call)):
        end = tree.body[-1]
        if not calls or not isinstance(end, ast.Expr) or not isinstance(end.value, (*_BARE, ast.Call)):
            return code, 0
        return (code, 0) if _prints(end.value) else _display(code, [end])
    expressions = [statement for statement in tree.body if isinstance(statement, ast.Expr)]
    if len(expressions) == values > 1:
        return _display(code, expressions)
    last, commented = tree.body[-1], lines_with_values(code)
    bare: list[ast.Expr | ast.Assign] = [
        statement
        for statement in tree.body
        if (statement.end_lineno in commented and assigns_result(statement))
        or (
            isinstance(statement, ast.Expr)
            and (
                isinstance(statement.value, _BARE)
                or (
                    isinstance(statement.value, ast.Call)
                    and (statement is last or statement.end_lineno in commented)
                )
            )
        )
    ]
    return _display(code, bare)


def with_displayed_last_name(code: str) -> tuple[str, int]:
    """The code with the bare name or attribute on its last line displayed; and 1, or 0 if there is none."""
    tree = tree_of(code)
    last = tree.body[-1] if tree is not None and tree.body else None
    is_name = isinstance(last, ast.Expr) and isinstance(last.value, ast.Name | ast.Attribute)
    return _display(code, [last]) if is_name and isinstance(last, ast.Expr) else (code, 0)


def with_displayed_last_assignment(code: str) -> tuple[str, int]:
    """The code, which shows nothing, with the name displayed that its last line assigns; and 1, or 0."""
    tree = tree_of(code)
    if tree is None or any(_prints(node) for node in nodes_of(tree) if isinstance(node, ast.Call)):
        return code, 0
    last = tree.body[-1] if tree.body else None
    targets = last.targets if isinstance(last, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return code, 0
    return f"{code.rstrip()}\n{DISPLAY}{targets[0].id})\n", 1


def _display(code: str, statements: Sequence[ast.Expr | ast.Assign]) -> tuple[str, int]:
    """The code with the values of these statements displayed, and their number.

    The value of an assignment is displayed after it, on its line.

    The code has to be normalised, since the columns are those of its tree.
    """
    lines = [line.encode() for line in code.split("\n")]
    count = 0
    for statement in reversed(statements):
        if statement.end_lineno is None:
            continue
        first, last, end = statement.lineno - 1, statement.end_lineno - 1, statement.end_col_offset or 0
        start = statement.col_offset
        if isinstance(statement, ast.Assign):
            shows = f"; {DISPLAY}{ast.unparse(statement.targets[0])})".encode()
            lines[last] = lines[last][:end] + shows + lines[last][end:]
            count += 1
            continue
        opens, closes = (b"(", b"))") if _needs_brackets(lines, statement) else (b"", b")")
        lines[last] = lines[last][:end] + closes + lines[last][end:]
        lines[first] = lines[first][:start] + DISPLAY.encode() + opens + lines[first][start:]
        count += 1
    text = b"\n".join(lines).decode()
    return (text, count) if 0 < count <= _MOST_SHOWN and parses(text) else (code, 0)


def _needs_brackets(lines: list[bytes], statement: ast.Expr) -> bool:
    """True for an expression that is another one as an argument: `a, b`, `*a, b`, `yield a`."""
    if not isinstance(statement.value, ast.Tuple | ast.Starred | ast.Yield | ast.YieldFrom):
        return False
    own = lines[statement.lineno - 1 : statement.end_lineno]
    own[-1] = own[-1][: statement.end_col_offset]
    own[0] = own[0][statement.col_offset :]
    call = tree_of("f(" + b"\n".join(own).decode() + ")")
    value = call.body[0].value if call is not None and isinstance(call.body[0], ast.Expr) else None
    return not (
        isinstance(value, ast.Call)
        and len(value.args) == 1
        and ast.dump(value.args[0]) == ast.dump(statement.value)
    )


def _prints(value: ast.expr) -> bool:
    """True if it is a call that prints."""
    if not isinstance(value, ast.Call):
        return False
    path = dotted_name(value.func)
    # Nobody looks at the number that `sys.stdout.buffer.write` returns.
    return path[-1:] in {("print",), ("pprint",), ("display",), ("displayhook",), ("write",), ("writelines",)}
