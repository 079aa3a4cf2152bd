"""Finds the fixed words and the forms of a script's own prints, to know its output again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from app.intake.code.syntax import dotted_name, nodes_of, normalise, tree_of

_FIELD = re.compile(r"%[-+#0 ]?\d{0,4}(?:\.\d{1,3})?[sdrfgeixa]|\{[^{}]{0,80}\}|\n")
_PERCENT = re.compile(r"%[-+#0 ]?\d{0,4}(?:\.\d{1,3})?[sdrfgeixa]")
_BRACES = re.compile(r"\{[^{}]{0,80}\}")
_WRITES = {"print", "write", "info", "debug", "warning", "error", "pprint", "log"}
# Three Chinese characters say as much as nine Latin letters.
_LEAST_BYTES = 6
_MOST_TEXTS = 200
# `tensor([1.0, nan])`, `pd.Series([1, None])`.
_MAKES = {"array", "asarray", "tensor", "as_tensor", "Tensor", "Series", "DataFrame"}
# A form with fewer letters fits by chance.
_LEAST_LETTERS = 8
_MOST_FORMS = 40
_MOST_LINE = 600
_LIKE_VALUE = re.compile(r"(?=.{0,80}(?:\d|True|False|None|nan|inf))(?:[^\s,;:]{1,80}|[\[({].{1,200}[\])}])")
_CLOSING = {"]": "[", ")": "(", "}": "{"}
_MARKS = " \t`\"'“”*_.,;!)"

# The texts between the values that a print shows.
Form = tuple[str, ...]


def printed_texts(codes: Iterable[str]) -> tuple[str, ...]:
    """The fixed words, each of at least six bytes with a letter, in the calls that print."""
    texts: dict[str, None] = {}
    for code in codes:
        tree = tree_of(normalise(code))
        for node in nodes_of(tree) if tree else ():
            if (
                isinstance(node, ast.Call)
                and dotted_name(node.func)[-1:]
                and dotted_name(node.func)[-1] in _WRITES
            ):
                for part in _strings(node):
                    texts.update(dict.fromkeys(piece.strip() for piece in _FIELD.split(part)))
    long = [text for text in texts if len(text.encode()) >= _LEAST_BYTES and any(map(str.isalpha, text))]
    return tuple(long[:_MOST_TEXTS])


def is_print_of(line: str, texts: Sequence[str]) -> bool:
    """True if a line holds fixed words of a print, and something beside them."""
    return any(text in line and line.strip() != text for text in texts)


def _strings(call: ast.Call) -> list[str]:
    return [
        node.value
        for argument in call.args
        for node in ast.walk(argument)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def prints_of_inputs(script: str) -> tuple[bool, ...]:
    """For each print: whether it shows an input into which the script put nan, and with which it did nothing.

    Empty if prints stand in loops or functions, or show several values.
    """
    tree = tree_of(script)
    statements = tree.body if tree else []
    prints = [value for each in statements if (value := _printed_value(each)) is not None]
    calls = [node for node in nodes_of(tree) if _is_print(node)] if tree else []
    if len(calls) != len(prints):
        return ()
    are_inputs: list[bool] = []
    fresh: set[str] = set()
    for statement in statements:
        value = _printed_value(statement)
        is_input = isinstance(value, ast.Name) and value.id in fresh
        if value is not None:
            are_inputs.append(is_input)
        if name := _gets_nan(statement):
            fresh.add(name)
        elif not is_input:
            fresh -= {node.id for node in nodes_of(statement) if isinstance(node, ast.Name)}
    return tuple(are_inputs)


def _is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _printed_value(statement: ast.stmt) -> ast.expr | None:
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_plain = isinstance(call, ast.Call) and _is_print(call) and len(call.args) == 1 and not call.keywords
    return call.args[0] if is_plain and isinstance(call, ast.Call) else None


def _gets_nan(statement: ast.stmt) -> str:
    """The name of `x` in `x[2] = nan` and `x = array([nan, 1.0])`; empty for other statements."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not any(map(_is_nan, nodes_of(value))):
        return ""
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        return target.value.id
    makes = isinstance(value, ast.Call) and dotted_name(value.func)[-1:]
    return target.id if isinstance(target, ast.Name) and makes and makes[0] in _MAKES else ""


def _is_nan(node: ast.AST) -> bool:
    name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
    return isinstance(name, str) and name.lower() == "nan"


def print_forms(codes: Iterable[str]) -> tuple[Form, ...]:
    """The forms of the calls of `print` that show values between enough fixed words."""
    forms: dict[Form, None] = {}
    for code in codes:
        tree = tree_of(normalise(code))
        for node in nodes_of(tree) if tree else ():
            if isinstance(node, ast.Call) and dotted_name(node.func) == ("print",) and not node.keywords:
                form = _form(node.args)
                if len(form) > 1 and sum(map(str.isalpha, "".join(form))) >= _LEAST_LETTERS:
                    forms[form] = None
    return tuple(forms)[:_MOST_FORMS]


def place_of_print(line: str, form: Form) -> tuple[int, int] | None:
    """Where a line shows what a print with this form makes, from its first value or word to its last one."""
    if len(line) > _MOST_LINE:
        return None
    first = next(text for text in form if text.strip())
    at = line.find(first.strip() if form[0] else first)
    if at < 0:
        return None
    values: list[str] = []
    start = at if form[0] else _start_of_value(line, at)
    if not form[0]:
        values.append(line[start:at])
    end = at + len(first.strip() if form[0] else first)
    for text in form[form.index(first) + 1 :]:
        at = line.find(text, end) if text else _end_of_value(line, end)
        if at < 0:
            return None
        values.append(line[end:at])
        end = at + len(text)
    return (start, end) if all(_LIKE_VALUE.fullmatch(value.strip()) for value in values) else None


def _form(arguments: Sequence[ast.expr]) -> Form:
    """The fixed texts of a print, with a value between each two. Empty if it prints several lines."""
    form = [""]
    for number, argument in enumerate(arguments):
        form[-1] += " " if number else ""
        for piece in _pieces(argument):
            if piece is None and len(form) > 1 and not form[-1]:
                # Two values without words between them can't be told apart.
                return ()
            form[-1:] = [form[-1], ""] if piece is None else [form[-1] + piece]
    return () if "\n" in "".join(form) else tuple(form)


def _pieces(node: ast.expr) -> list[str | None]:
    """The fixed texts of an expression in order, with None for each value."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return [piece for part in parts for piece in _pieces(part)]
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            return _split(text, _PERCENT)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return _split(text, _BRACES)
        case _:
            return [None]


def _split(text: str, field: re.Pattern[str]) -> list[str | None]:
    pieces: list[str | None] = []
    for number, piece in enumerate(field.split(text)):
        pieces += [None, piece] if number else [piece]
    return pieces


def _start_of_value(line: str, end: int) -> int:
    """The place of the value that ends here: a bracket to its opening one, or the text behind a blank."""
    opening = _CLOSING.get(line[end - 1 : end])
    at = line.rfind(opening, 0, end) if opening else -1
    if at >= 0:
        return at
    at = line.rfind(" ", 0, end) + 1
    return at + len(line[at:end]) - len(line[at:end].lstrip(_MARKS))


def _end_of_value(line: str, start: int) -> int:
    """The end of the value that begins here, without the signs that end a sentence; -1 if there is none."""
    rest = line[start:]
    skipped = len(rest) - len(rest.lstrip())
    closing = {"[": "]", "(": ")", "{": "}"}.get(rest.lstrip()[:1])
    if closing:
        at = rest.rfind(closing)
        return start + at + 1 if at >= 0 else -1
    word = rest.lstrip().split(maxsplit=1)[:1]
    return start + skipped + len(word[0].rstrip(_MARKS)) if word and word[0].rstrip(_MARKS) else -1
