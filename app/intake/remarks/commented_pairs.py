"""Reads comments that name the right and the wrong value of a call, as `# Expected: 3` and `# Got: 4`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.intake.claim.claim_text import cut, output_check
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.code.syntax import normalise, tree_of
from app.intake.words.vocabulary import (
    EXCEPTION_LINE,
    FLAGS,
    MODALS,
    SHOW,
    any_of,
    is_printed_line,
    strip_quotes,
)

_NOUN = (
    r"(?: (?:outputs?|results?|values?|behaviou?rs?|answers?|returns?|ausgabe|ergebnis|wert|résultat|sortie"
    r"|resultado|salida|valor))?(?:的)?(?:输出|结果|值|出力|結果)?"
)
_EXPECTED = (
    rf"(?:expected|expects?|wanted|wants?|desired|correct|(?:it )?{any_of(MODALS)} {any_of(SHOW)}"
    r"|erwartet(?:e[sr]?)?|richtig(?:e[sr]?)?|attendue?|esperad[oa]|deseado|atteso|ожида(?:ется|лось)"
    r"|должно быть"
    r"|期望|预期|期待|应该是|应为)"
)
_ACTUAL = (
    r"(?:actual(?:ly)?|(?:but |i |we )?(?:got|gets?)|output|printed|prints?|returned|returns?|results?"
    r"|received|real"
    r"|observed|seen|gives?|gave|tatsächlich(?:e[sr]?)?|stattdessen|ausgabe|obtenue?|reçu|sortie"
    r"|obtenid[oa]|salida|ottenuto|получ(?:ено|ается|аю)|вывод|实际|得到|输出|実際)"
)
_LABEL = re.compile(
    rf"(?:^|(?<=[,;.(]) ?|(?<=\bbut )|(?<=\band )|(?<=\binstead )|(?<= - ))[ \t]*(?:the |my )?"
    rf"(?:(?P<expected>{_EXPECTED})|(?P<actual>{_ACTUAL})){_NOUN}(?!\w)(?P<colon>[ \t]{{0,2}}(?:[:：=]"
    rf"|-{{1,2}}>))?",
    FLAGS,
)
_TIE = re.compile(r"\b(?:but|and|instead|it)$", FLAGS)
_TICKS = re.compile(r"`([^`]{1,400})`[.,;!]?")
_BLANK = " \t,;"
_MOST_LINES = 12
_MOST_COMMENT = 2_000
_MOST_STATEMENTS = 2_000


def commented_pairs(script: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The (wrong, right) values that comments below or beside top-level calls name, each with its label.

    Empty unless every such comment names both, since a single value may be either.
    """
    text = normalise(script)
    tree = tree_of(text) if "#" in text else None
    if tree is None:
        return (), ()
    lines = text.split("\n")
    wrong: list[str] = []
    right: list[str] = []
    for statement in tree.body[:_MOST_STATEMENTS]:
        if not isinstance(statement, ast.Expr) or statement.end_lineno is None:
            continue
        pair = _pair(_comment_at(lines, statement.end_lineno, statement.end_col_offset or 0))
        if pair is not None:
            wrong += pair[0]
            right += pair[1]
    return tuple(wrong), tuple(right)


def labelled_checks(texts: Sequence[str]) -> list[Check]:
    """The checks of prose whose lines label the wrong and the right value, each with a colon or an arrow."""
    lines = [line.strip(" *_-\t")[:_MOST_COMMENT] for text in texts for line in text.split("\n")]
    labelled_lines = [line for line in lines if (match := _LABEL.match(line)) and match["colon"]]
    pair = _pair(labelled_lines) if len(labelled_lines) > 1 else None
    return (
        []
        if pair is None
        else [_check(pair[0], labelled_lines, Role.BUG), _check(pair[1], labelled_lines, Role.EXPECTED)]
    )


def _check(values: Sequence[str], lines: Sequence[str], role: Role) -> Check:
    line = next((line for line in lines if values[0] in line), values[0])
    number = literal_check(values[0], cut(line), role) if len(values) == 1 else None
    return output_check(values, role=role) if number is None else number


def _comment_at(lines: Sequence[str], end: int, column: int) -> list[str]:
    """The comment beside a statement, or the lines of comment right below it."""
    beside = lines[end - 1].encode()[column:].decode(errors="replace").strip()
    below: list[str] = []
    for line in lines[end : end + _MOST_LINES]:
        if not line.startswith("#"):
            break
        below.append(line)
    comment = [beside, *below] if beside.startswith("#") else below
    return [line.lstrip("#! ").rstrip()[:_MOST_COMMENT] for line in comment]


def _pair(comment: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The (wrong, right) lines of a comment that labels both; None for any other comment."""
    sides: dict[str, list[str]] = {}
    into: list[str] | None = None
    for line in comment:
        labels = list(_LABEL.finditer(line))
        if not labels:
            if into is not None and line:
                into.append(line)
            continue
        for label, value in _values_by_label(line, labels):
            side = "right" if label["expected"] else "wrong"
            if side in sides:
                return None
            into = sides.setdefault(side, [])
            into += [value] if value else []
    wrong, right = (_values(sides.get(side, ())) for side in ("wrong", "right"))
    return (wrong, right) if wrong and right and wrong != right else None


def _values_by_label(line: str, labels: Sequence[re.Match[str]]) -> Iterator[tuple[re.Match[str], str]]:
    ends = [other.start() for _, other in pairwise(labels)] + [len(line)]
    for label, end in zip(labels, ends, strict=True):
        yield label, _TIE.sub("", line[label.end() : end].strip(_BLANK)).strip(_BLANK)


def _values(lines: Sequence[str]) -> list[str]:
    """The lines as values; empty if one of them is a sentence."""
    # Errors are read by another rule.
    values = [] if any(map(EXCEPTION_LINE.fullmatch, lines)) else [_value(line) for line in lines]
    return values if all(values) else []


def _value(text: str) -> str:
    if match := _TICKS.fullmatch(text.strip()):
        return match[1].strip()
    # In a value over several lines, a comma belongs to it.
    text = text.strip().rstrip(".;!" if text.count("[") != text.count("]") else ".,;!")
    if text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return strip_quotes(text) if _is_literal(text) or is_printed_line(text) else ""


def _is_literal(text: str) -> bool:
    """Whether a text is a value as Python shows it: `{'a': 1}`, `Foo(a=1)`, `nan`."""
    tree = tree_of(text)
    statement = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Name):
        return value.id in {"nan", "inf"}
    return isinstance(
        value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp | ast.Call | ast.BinOp
    )
