"""Finds the fixed words of a script's own prints, to know its output again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from app.intake.code.syntax import dotted_name, nodes_of, normalise, tree_of

_FIELD = re.compile(r"%[-+#0 ]?\d{0,4}(?:\.\d{1,3})?[sdrfgeixa]|\{[^{}]{0,80}\}|\n")
_WRITES = {"print", "write", "info", "debug", "warning", "error", "pprint", "log"}
# Three Chinese characters say as much as nine Latin letters.
_LEAST_BYTES = 6
_MOST_TEXTS = 200


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
