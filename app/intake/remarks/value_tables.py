"""Reads Markdown tables with a column for the expected and one for the actual values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import output_check
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.words.vocabulary import FLAGS, is_printed_line, strip_quotes

_NOUN = (
    r"(?: ?(?:outputs?|results?|values?|rows?|ausgabe|ergebnis|wert|résultat|valeur|resultado|valor"
    r"|出力|値|结果|值))?"
)
_ASIDE = r"(?: ?\([^()\n]{0,60}\))?"
_EXPECTED = re.compile(
    r"[\W_]*(?:the )?(?:expect(?:ed)?|should(?: be| print| return| give)?|correct|right|wanted|desired"
    r"|erwartet|soll"
    r"|richtig|attendu|esperado|ожида\w+|期待(?:値|される)?|期望|预期)" + _NOUN + _ASIDE + r"[\W_]*",
    FLAGS,
)
_ACTUAL = re.compile(
    r"[\W_]*(?:the )?(?:actual(?:ly)?|got|get|i get|is|observed|seen|wrong|output|result|printed|prints"
    r"|returned|returns"
    r"|ausgabe|ist|tatsächlich|erhalten|obtenu|obtenido|получ\w+|実際(?:の)?|实际(?:的)?|输出|得到)"
    + _NOUN
    + _ASIDE
    + r"[\W_]*",
    FLAGS,
)
_RULE = re.compile(r"[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++[ \t]*+")
_MOST_ROWS = 60
_MOST_LINE = 1_000
_MOST_LINES = 5_000


def tabled_values(texts: Sequence[str]) -> list[Check]:
    """The checks of the first table that has both columns, and a value in each of its rows."""
    for text in texts:
        lines = text.split("\n")[:_MOST_LINES]
        for at in range(1, len(lines)):
            is_table = "|" in lines[at] and "|" in lines[at - 1] and _RULE.fullmatch(lines[at][:_MOST_LINE])
            if is_table and (checks := _checks(_cells(lines[at - 1]), list(_rows(lines[at + 1 :])))):
                return checks
    return []


def _rows(lines: Sequence[str]) -> Iterator[list[str]]:
    for line in lines[:_MOST_ROWS]:
        if "|" not in line:
            return
        yield _cells(line)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[:_MOST_LINE].strip().strip("|").split("|")]


def _checks(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Check]:
    right = [at for at, head in enumerate(heads) if _EXPECTED.fullmatch(head)]
    wrong = [at for at, head in enumerate(heads) if _ACTUAL.fullmatch(head)]
    if len(right) != 1 or len(wrong) != 1 or not rows or any(len(row) != len(heads) for row in rows):
        return []
    values, right_values = ([strip_quotes(row[at]) for row in rows] for at in (wrong[0], right[0]))
    if values == right_values or not all(map(is_printed_line, (*values, *right_values))):
        return []
    return [_check(values, Role.BUG), _check(right_values, Role.EXPECTED)]


def _check(values: Sequence[str], role: Role) -> Check:
    number = literal_check(values[0], values[0], role) if len(values) == 1 else None
    return output_check(values, role=role) if number is None else number
