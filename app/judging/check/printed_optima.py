"""Compares printed results of optimisers by label: their order and last digits differ between versions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.printed_numbers import Number, near, numbers_in

_LABEL = re.compile(r"[ \t]{0,40}(?P<label>fun|x): ")
# A number with so many digits is compared with a tolerance.
_LEAST_DIGITS = 7
_TOLERANCE = 1e-6
_LEAST_RESULTS = 2
_MOST_LINES = 400


def shows_same_optima(check: Check, stdout: str) -> bool:
    """Whether the output has the claimed optima in order, each with its place `x`.

    Only for results that differ much from each other: the claim is then not about last digits.
    """
    if check.kind is not CheckKind.OUTPUT or check.role is not Role.BUG:
        return False
    claimed, seen = _results(check.lines), _results(stdout.splitlines()[:_MOST_LINES])
    optima = [row[0] for label, row in claimed if label == "fun" and len(row) == 1]
    if len(optima) < _LEAST_RESULTS or any(
        near(one.value, other.value) for at, one in enumerate(optima) for other in optima[:at]
    ):
        return False
    return all(
        _same(
            [row for label, row in claimed if label == name],
            [row for label, row in seen if label == name],
        )
        for name in ("fun", "x")
    )


def _results(lines: Sequence[str]) -> list[tuple[str, list[Number]]]:
    matches = [(match, line) for line in lines if (match := _LABEL.match(line))]
    return [
        (match["label"], numbers_in(line[match.end() :].replace("float64", ""))) for match, line in matches
    ]


def _same(claimed: Sequence[Sequence[Number]], seen: Sequence[Sequence[Number]]) -> bool:
    return [len(row) for row in claimed] == [len(row) for row in seen] and all(
        _close(one, other)
        for row, now in zip(claimed, seen, strict=True)
        for one, other in zip(row, now, strict=True)
    )


def _close(claimed: Number, seen: Number) -> bool:
    size = 1.0 if claimed.digits >= _LEAST_DIGITS else 0.0
    return abs(claimed.value - seen.value) <= _TOLERANCE * size * max(1.0, abs(claimed.value))
