"""Reads `The result of A*B is:` above a value in prose as an output, and the one found by hand as right."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.layout.labelled_blocks import EXPECTED, SEEN
from app.intake.snippets.parts import Part, PartKind
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.vocabulary import is_printed_line

_NOUN = r"(?:results?|outputs?|answer|ergebnis|result(?:ado|at)|résultat|risultato|результат|ответ|结果|結果)"
# `El resultado final de Z*Z es:`, `Das Ergebnis von f(x) ist 3`, `Von Hand gerechnet ist es: 3`.
_IS = r"(?:is|ist(?: es)?|es|é|è|est|sería|seria|wäre|serait|dà|da|sale|ergibt|prints|равен|равно|是|为|は)"
_BY_HAND = re.compile(
    r"\b(?:by hand|on paper|manually|a mano|à mão|a mão|na mão|von hand|per hand|à la main|a mano|вручную"
    r"|(?:in|with|con|mit|avec|com) (?:mathcad|mathematica|matlab|octave|excel|wolfram\w*|maple|r|julia"
    r"|(?:a |my |meinem |dem |una |mi |ma |minha )?(?:calculator|taschenrechner|calculadora|calculatrice"
    r"|calcolatrice)))\b|手算|手计算|手計算|手で計算",
    re.IGNORECASE,
)
_OF_RESULT = re.compile(rf"\b{_NOUN}\b|结果|結果", re.IGNORECASE)
_VALUE = r"(?P<value>(?:\[|\(|`|-?\d)[^\n]{0,300})?$"
_RESULT = re.compile(rf"(?:(?<=\s)|(?<=[\u3000-\u9fff])){_IS}[ \t]*+[:：]?[ \t]*+{_VALUE}", re.IGNORECASE)
_BY_HAND_IS = re.compile(
    rf"(?:(?:(?<=\s)|(?<=[\u3000-\u9fff])){_IS}[ \t]*+[:：]?|[:：])[ \t]*+{_VALUE}", re.IGNORECASE
)
_BRACKETS = re.compile(r"[\[\]().,;\s\d+\-*/a-z'\"]{1,400}", re.IGNORECASE)
_ENGLISH = re.compile(r"\b(?:the|is|should|expected|I|get)\b")
_KEYS = key_set(
    "result results output outputs answer ergebnis resultado resultat résultat risultato результат ответ "
    "hand paper manually mano mão main вручную mathcad mathematica matlab octave excel maple julia "
    "calculator taschenrechner calculadora calculatrice calcolatrice"
)
_SIGNS = ("结果", "結果", "手算", "手计算", "手計算", "手で計算")
# A line with a value, or above one, ends with one of these.
_ENDS = frozenset(":：])`0123456789")
_MOST_LINE = 600
_MOST_PARTS = 200
_MOST_LINES = 30


def with_results_in_prose(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which such values are outputs; as they are if a block or another caption shows one."""
    has_code = any(part.kind is PartKind.CODE for part in parts)
    if not has_code or any(part.kind is PartKind.OUTPUT for part in parts):
        return [*parts]
    outputs: list[Part] = []
    for at, part in enumerate(parts[:_MOST_PARTS]):
        if part.kind is not PartKind.PROSE or not _may_tell(part):
            continue
        below = parts[at + 1] if at + 1 < len(parts) and parts[at + 1].kind is PartKind.PROSE else None
        pair = _outputs(part, below)
        outputs += pair if pair and not part.about_environment else []
    sides = {part.before for part in outputs}
    if sides != {SEEN, EXPECTED} or len(outputs) != 2:
        return [*parts]
    taken = {part.text for part in outputs}
    rest = [part for part in parts if part.text.strip() not in taken]
    code = "\n".join(part.text for part in parts if part.kind is PartKind.CODE)
    return [
        *rest,
        *(replace(part, text=_in_rows(part.text)) if "numpy" in code else part for part in outputs),
    ]


def _may_tell(part: Part) -> bool:
    """False if a paragraph has none of the words that the patterns need. Most have none."""
    own = part.own_text or part.text
    return not _KEYS.isdisjoint(words_of(own)) or any(sign in own for sign in _SIGNS)


def _outputs(part: Part, below: Part | None) -> list[Part]:
    """The value behind the last line of a paragraph, or that which the next paragraph is."""
    own = (part.own_text or part.text).strip()
    lines = own.split("\n")[:_MOST_LINES]
    for number, line in enumerate(lines):
        if line.rstrip()[-1:] not in _ENDS:
            continue
        words = line.strip()[:_MOST_LINE]
        by_hand = _BY_HAND.search(words)
        if not by_hand and not _OF_RESULT.search(words):
            continue
        match = (_BY_HAND_IS if by_hand else _RESULT).search(words)
        if match is None:
            continue
        rest = "\n".join(lines[number + 1 :])
        value = match["value"] or rest or (below.text.strip() if below else "")
        if value and _is_value(value):
            caption = EXPECTED if by_hand else SEEN
            return [Part(PartKind.OUTPUT, value.strip(" .`"), "", caption)]
    return []


def _is_value(text: str) -> bool:
    """Whether a text is nothing but a number, a list or a matrix."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    is_printed = all(map(is_printed_line, lines)) or all(map(_BRACKETS.fullmatch, lines))
    return bool(lines) and is_printed and not _ENGLISH.search(text) and any(map(str.isdigit, text))


def _in_rows(text: str) -> str:
    """A list of lists with a row on each line, as numpy prints it; other texts as they are."""
    try:
        rows = ast.literal_eval(text.strip().rstrip(".,"))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
    is_matrix = isinstance(rows, list) and len(rows) > 1 and all(isinstance(row, list) for row in rows)
    if not is_matrix or any(isinstance(item, list) for row in rows for item in row):
        return text
    texts = [f"[{' '.join(map(str, row))}]" for row in rows]
    return "\n".join([f"[{texts[0]}", *texts[1:-1], f"{texts[-1]}]"])
