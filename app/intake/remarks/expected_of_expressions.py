"""Finds the value of one expression of the script: ``a.max()` should be 1.0`, ``a.max()` is 2.0`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, lines_in, output_check
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.code.syntax import dotted_name, normalise, tree_of
from app.intake.words.vocabulary import FLAGS, LITERAL, MODALS, SHOW, any_of, strip_quotes

_SHOULD = rf" {{1,2}}(?:\w{{1,12}} )?(?P<should>{any_of(MODALS)}) (?:\w{{1,12}} )?{any_of(SHOW)}"
_RIGHT = re.compile(rf"{_SHOULD} {{1,2}}(?P<expected>{LITERAL})", FLAGS)
_SPACE = re.compile(r"[\s`\"']+")
# ``a.max()` is 2.0`, ``a == b` → False`.
_IS = re.compile(
    r"`(?P<code>[^`\n]{1,200})` ?(?:is|=|==|→|->|=>|equals|evaluates to|becomes) ?"
    rf"(?:(?:always|still|now|just|only) )?(?P<value>{LITERAL})"
    r"(?![`\"')]{0,3},? (?:as (?:it should|expected)|which is (?:right|correct|fine|expected|ok)))",
    FLAGS,
)
_NOT_SEEN = re.compile(
    rf"\b(?:{any_of(MODALS)}|if|when|unless|whether|since|because|where|expect\w*|would|correctly|rightly"
    r"|previously|used to|before)\b[^.;\n]{0,30}$",
    FLAGS,
)
_MOST_SENTENCES = 200
_MOST_LINE = 2_000
_MOST_BEFORE = 60
_LEAST_CODE = 3
_DISPLAYS = {("print",), ("displayhook",), ("display",), ("pprint",)}


def expected_of_expression(lines: Sequence[str], texts: Sequence[str], main: str) -> Check | None:
    """The printed lines, with that of the named expression replaced; None unless each prints one line."""
    codes = _shown_codes(main)
    if len(codes) != len(lines) or len(set(codes)) != len(codes):
        return None
    for text in texts:
        for sentence in lines_in(text)[:_MOST_SENTENCES]:
            for match in _RIGHT.finditer(sentence[:_MOST_LINE]):
                # The word before `should` may end the expression: `x >> 1 should be -1`.
                before = [_SPACE.sub("", sentence[: match.start(name)]) for name in (0, "should")]
                ends = [
                    at
                    for at, code in enumerate(codes)
                    if len(code) >= _LEAST_CODE and any(each.endswith(code) for each in before)
                ]
                if ends:
                    # `a.max()` ends `b[a.max()]`, too.
                    at = max(ends, key=lambda place: len(codes[place]))
                    mended = [*lines[:at], strip_quotes(match["expected"]), *lines[at + 1 :]]
                    return output_check(mended, role=Role.EXPECTED) if mended != list(lines) else None
    return None


def value_of_expression(texts: Sequence[str], main: str) -> list[Check]:
    """The value that a sentence gives for an expression which the script shows, as the bug.

    Empty if sentences give values for several of them, or several values.
    """
    codes = _shown_codes(main)
    values: dict[str, str] = {}
    for text in texts if codes else ():
        for sentence in lines_in(text)[:_MOST_SENTENCES]:
            for match in _IS.finditer(sentence[:_MOST_LINE]):
                if _SPACE.sub("", match["code"]) in codes and not _NOT_SEEN.search(
                    sentence[max(0, match.start() - _MOST_BEFORE) : match.start()]
                ):
                    values.setdefault(strip_quotes(match["value"]), cut(sentence))
    if len(values) != 1:
        return []
    value, sentence = values.popitem()
    check = literal_check(f"`{value}`", sentence, Role.BUG)
    return [check] if check is not None else []


def _shown_codes(main: str) -> list[str]:
    """The expressions whose values the script shows, without spaces and quotes; empty if others print too."""
    tree = tree_of(normalise(main))
    codes: list[str] = []
    for statement in tree.body if tree else ():
        if not isinstance(statement, ast.Expr):
            if any(isinstance(node, ast.Call) and _shows(node) for node in ast.walk(statement)):
                return []
            continue
        value = statement.value
        if isinstance(value, ast.Call) and _shows(value):
            if len(value.args) != 1:
                return []
            value = value.args[0]
        elif "print(" in main:
            continue
        codes.append(_SPACE.sub("", ast.unparse(value)))
    return codes


def _shows(call: ast.Call) -> bool:
    path = dotted_name(call.func)[-1:]
    return path in _DISPLAYS or (isinstance(call.func, ast.Attribute) and call.func.attr == "displayhook")
