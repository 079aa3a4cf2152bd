"""Claims about spelling: the expected value in other characters, such as `5e+03` instead of `5000.0`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import MOST_CHARACTERS, equal_tokens, tokens_of

_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}


def judge_spelling(check: Check, opposite: Sequence[Check], stdout: str) -> CheckResult | None:
    """MET for the spelling of the check in the output, ABSENT for that of an opposite check.

    The opposite of a claimed output is the expected one, and the other way round. None if the claim is not
    about spelling alone, or if nothing was printed.
    """
    for other in opposite:
        pairs = _spelled_apart(check, other)
        if pairs and stdout.strip():
            return _judge_lines(pairs, stdout.splitlines())
    return None


def _spelled_apart(check: Check, other: Check) -> list[tuple[str, str]]:
    """Pairs of a line of the check and one of its opposite with the same meaning in another spelling.

    Empty if any two lines differ in meaning.
    """
    is_opposite = (check.role is Role.EXPECTED) is not (other.role is Role.EXPECTED)
    if not is_opposite or not {check.kind, other.kind} <= _PRINTED:
        return []
    claimed, expected = _texts(check), _texts(other)
    tokens = [(tokens_of(one), tokens_of(two)) for one, two in zip(claimed, expected, strict=False)]
    if len(claimed) != len(expected) or not all(one and equal_tokens(one, two) for one, two in tokens):
        return []
    return [pair for pair in zip(claimed, expected, strict=True) if pair[0] != pair[1]]


def _texts(check: Check) -> list[str]:
    lines = check.lines if check.kind is CheckKind.OUTPUT else [check.number or ""]
    return [" ".join(line.split()) for line in lines]


def _judge_lines(pairs: Sequence[tuple[str, str]], lines: Sequence[str]) -> CheckResult:
    shown_lines = [" ".join(line[:MOST_CHARACTERS].split()) for line in lines]
    results = [[_judge_line(line, claimed, expected) for line in shown_lines] for claimed, expected in pairs]
    if all(CheckResult.MET in each for each in results):
        return CheckResult.MET
    if all(CheckResult.ABSENT in each for each in results):
        return CheckResult.ABSENT
    return (
        CheckResult.UNREACHED if any(CheckResult.UNREACHED in each for each in results) else CheckResult.OTHER
    )


def _judge_line(line: str, claimed: str, expected: str) -> CheckResult | None:
    """MET for a line with the claimed spelling, ABSENT with the expected one, None without any.

    If one spelling contains the other, the longer one counts. Otherwise a line with both is UNREACHED.
    """
    has_claimed, has_expected = (_is_in(text, line) for text in (claimed, expected))
    if has_claimed and has_expected and (claimed in expected or expected in claimed):
        has_claimed, has_expected = len(claimed) > len(expected), len(expected) > len(claimed)
    if has_claimed and has_expected:
        return CheckResult.UNREACHED
    return CheckResult.MET if has_claimed else CheckResult.ABSENT if has_expected else None


def _is_in(text: str, line: str) -> bool:
    """Whether the line contains the text, but not as a part of a longer word or number."""
    begin = r"(?<![\w.+-])" if re.match(r"[\w.+-]", text) else ""
    end = r"(?![\w+-]|\.\w)" if re.search(r"[\w.]\Z", text) else ""
    return re.search(begin + re.escape(text) + end, line) is not None
