"""A claim about how something is written: the same value or words as expected, in another dress, such as `5e+03` instead of `5000.0`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import MOST_CHARACTERS, equal_tokens, tokens_of

_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}


def judge_spelling(check: Check, expected: Sequence[Check], stdout: str) -> CheckResult | None:
    """Which of the two spellings stands in what was printed; None where the claim is about more than that, or nothing was printed."""
    for other in expected:
        pairs = _spelled_apart(check, other)
        if pairs and stdout.strip():
            return _judged(pairs, stdout.splitlines())
    return None


def _spelled_apart(check: Check, other: Check) -> list[tuple[str, str]]:
    """The lines, as claimed and as expected, that say the same and are written otherwise; none where any says something else."""
    if other.role is not Role.EXPECTED or not {check.kind, other.kind} <= _PRINTED:
        return []
    claimed, expected = _texts(check), _texts(other)
    tokens = [(tokens_of(one), tokens_of(two)) for one, two in zip(claimed, expected, strict=False)]
    if len(claimed) != len(expected) or not all(one and equal_tokens(one, two) for one, two in tokens):
        return []
    return [pair for pair in zip(claimed, expected, strict=True) if pair[0] != pair[1]]


def _texts(check: Check) -> list[str]:
    lines = check.lines if check.kind is CheckKind.OUTPUT else [check.number or ""]
    return [" ".join(line.split()) for line in lines]


def _judged(pairs: Sequence[tuple[str, str]], lines: Sequence[str]) -> CheckResult:
    shown = [" ".join(line[:MOST_CHARACTERS].split()) for line in lines]
    said = [[_said(line, claimed, expected) for line in shown] for claimed, expected in pairs]
    if all(CheckResult.MET in each for each in said):
        return CheckResult.MET
    if all(CheckResult.ABSENT in each for each in said):
        return CheckResult.ABSENT
    return CheckResult.UNREACHED if any(CheckResult.UNREACHED in each for each in said) else CheckResult.OTHER


def _said(line: str, claimed: str, expected: str) -> CheckResult | None:
    """Which one a line shows: the longer, where one holds the other. A line that tells both shows neither; None of one without them."""
    found = [_stands(text, line) for text in (claimed, expected)]
    if all(found) and (claimed in expected or expected in claimed):
        found = [len(claimed) > len(expected), len(expected) > len(claimed)]
    if all(found):
        return CheckResult.UNREACHED
    return CheckResult.MET if found[0] else CheckResult.ABSENT if found[1] else None


def _stands(text: str, line: str) -> bool:
    """Whether the text stands in the line and is no part of a longer word or number."""
    begin = r"(?<![\w.+-])" if re.match(r"[\w.+-]", text) else ""
    end = r"(?![\w+-]|\.\w)" if re.search(r"[\w.]\Z", text) else ""
    return re.search(begin + re.escape(text) + end, line) is not None
