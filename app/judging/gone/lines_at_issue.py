"""The lines in which a claimed output and the expected one differ. Only these lines are at issue.

Lines are put side by side by their label, as `gradient: …`. Without labels any line may be about anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import Token, same_tokens, tokens_of
from app.judging.output.printed_numbers import Number
from worker.contract import Outcome, Result

_MOST_LINES = 200
# A value of more lines is data.
_MOST_LINES_OF_VALUE = 40
_LABEL = re.compile(
    r"\s*(?P<label>[^\W\d_][\w .()\[\]'/|-]{0,59}?)[ \t]*(?::|(?<![=<>!])=(?!=))[ \t]*(?P<value>\S.*)$"
)
_CONSTANTS = {"True", "False", "None"}

_Row = Sequence[Token]


@dataclass(frozen=True, slots=True)
class Line:
    """A line as claimed, as expected, and as printed."""

    claimed: _Row
    right: _Row
    seen: _Row

    @property
    def is_at_issue(self) -> bool:
        """Whether the claimed line is not the expected one."""
        return not same_tokens(self.claimed, self.right)

    @property
    def is_as_claimed(self) -> bool:
        """Whether the printed line is the claimed one, and not the expected one."""
        return same_tokens(self.claimed, self.seen) and not same_tokens(self.right, self.seen)

    @property
    def is_as_expected(self) -> bool:
        """Whether the printed line is the expected one, and not the claimed one."""
        return same_tokens(self.right, self.seen) and not same_tokens(self.claimed, self.seen)

    @property
    def is_worse(self) -> bool:
        """Whether nan or inf came into a line that was finite."""
        return _is_finite(self.claimed) and not _is_finite(self.seen)


def judge_lines_at_issue(check: Check, expected: Sequence[Check], result: Result) -> CheckResult | None:
    """MET if the lines at issue are as claimed, ABSENT if they are as expected. None if it is not plain."""
    if result.outcome is not Outcome.COMPLETED:
        return None
    lines = lines_by_label(check, expected, result.observation.stdout)
    at_issue = [line for line in lines if line.is_at_issue]
    if not at_issue or (len(lines) == len(at_issue) == 1 and not _has_own_lines(check, expected)):
        return None
    if all(line.is_as_claimed for line in at_issue):
        return CheckResult.MET
    is_worse = any(line.is_worse for line in lines if not line.is_at_issue)
    is_gone = all(line.is_as_expected for line in at_issue) and not is_worse
    return CheckResult.ABSENT if is_gone else None


def lines_by_label(check: Check, expected: Sequence[Check], stdout: str) -> list[Line]:
    """The lines with a label that the claim, the one expected output and the printed output share.

    Empty if one at issue is missing, or stands there twice.
    """
    texts = _texts(check, expected, stdout)
    return _by_label(*map(_values_by_label, texts)) if texts else []


def lines_by_place(check: Check, expected: Sequence[Check], stdout: str) -> list[Line]:
    """The lines of three outputs with as many lines of the same words. Empty if these differ."""
    texts = _texts(check, expected, stdout)
    rows = [[tokens_of(line) for line in lines] for lines in texts]
    forms = [[_form(row) for row in each] for each in rows]
    if not forms or not forms[0] == forms[1] == forms[2]:
        return []
    return [Line(*each) for each in zip(*rows, strict=True)]


def _texts(check: Check, expected: Sequence[Check], stdout: str) -> list[list[str]]:
    """The lines of the claim, of the one expected output, and those that are printed. Empty without these."""
    right = [other for other in expected if other.role is Role.EXPECTED]
    if (
        len(right) != 1
        or check.role is not Role.BUG
        or any(each.kind is not CheckKind.OUTPUT or _names_part(each) for each in (check, *right))
    ):
        return []
    texts = [_lines(check.lines), _lines(right[0].lines), _lines(stdout.splitlines())]
    return [] if any(len(lines) > _MOST_LINES for lines in texts) else texts


def _names_part(check: Check) -> bool:
    """Whether the check is about a part of the output only."""
    where = check.where
    return any((check.stream, check.occurrence, check.label, where.device, where.mode))


def _has_own_lines(check: Check, expected: Sequence[Check]) -> bool:
    """Whether the claim shows lines of which the report does not say what is expected."""
    return len(_lines(check.lines)) > sum(len(_lines(other.lines)) for other in expected)


def _lines(texts: Sequence[str]) -> list[str]:
    return [text for text in texts[: _MOST_LINES * 2] if text.strip()]


def _by_label(
    claimed: Mapping[str, _Row | None], right: Mapping[str, _Row | None], seen: Mapping[str, _Row | None]
) -> list[Line]:
    lines: list[Line] = []
    for label in claimed:
        if label not in right:
            continue
        one, other, printed = claimed[label], right[label], seen.get(label)
        if one is not None and other is not None and printed is not None:
            lines.append(Line(one, other, printed))
        elif one is None or other is None or not same_tokens(one, other):
            return []
    return lines


def _values_by_label(lines: Sequence[str]) -> dict[str, _Row | None]:
    """The values by their labels; None for a label that has several."""
    values: dict[str, _Row | None] = {}
    at = 0
    while at < len(lines):
        match = _LABEL.match(lines[at])
        at += 1
        if match is None:
            continue
        value, last = match["value"], at + _MOST_LINES_OF_VALUE
        while at < min(len(lines), last) and _is_open(value) and _LABEL.match(lines[at]) is None:
            value += " " + lines[at]
            at += 1
        label = " ".join(match["label"].casefold().split())
        values[label] = None if label in values else tokens_of(value)
    return values


def _is_open(text: str) -> bool:
    return sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))


def _form(row: _Row) -> tuple[str | None, ...]:
    """The words of a line, with None for each number and each constant."""
    return tuple(None if isinstance(token, Number) or token in _CONSTANTS else token for token in row)


def _is_finite(row: _Row) -> bool:
    return all(math.isfinite(token.value) for token in row if isinstance(token, Number))
