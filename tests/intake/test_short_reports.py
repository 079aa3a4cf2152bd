"""Short reports of a kind, in many words, layouts and languages, each with its claim.

A file of `tests/reports/short` holds a kind. Each report stands below a line with what is right of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.words.vocabulary import strip_quotes

FOLDER = Path(__file__).parents[1] / "reports" / "short"
PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}


def short_reports() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.txt")):
        for text in path.read_text().split("\n=== "):
            head, _, report = text.removeprefix("=== ").partition("\n")
            right = json.loads(head)
            yield pytest.param(report, right, id=f"{path.stem}-{right['name']}")


def values_of(check: Check) -> list[str]:
    return [strip_quotes(value) for value in (*check.lines, check.number or "") if value]


def shown_by(claim: Claim, *roles: Role) -> set[str]:
    checks = [check for check in claim.checks if check.role in roles and check.kind in PRINTED]
    return {value for check in checks for value in values_of(check)}


def assert_bug(claim: Claim, right: dict[str, Any]) -> None:
    bugs = claim.having(Role.BUG)
    kinds = {check.kind for check in bugs}
    if "error" in right:
        assert [check.exception_type for check in bugs] == [right["error"]]
    elif "varies" in right:
        assert kinds == {CheckKind.VARIES}
    elif "no_error" in right:
        assert CheckKind.EXCEPTION not in kinds
    elif right["bug"] is None:
        assert bugs == ()
    else:
        assert kinds <= PRINTED
        # The blocks below the first one are its details.
        assert shown_by(claim, Role.BUG, Role.DETAIL) == set(map(strip_quotes, right["bug"]))


@pytest.mark.parametrize(("report", "right"), [*short_reports()])
def test_the_claim_of_a_short_report(report: str, right: dict[str, Any]) -> None:
    reading = read(report, form="report")
    claim = reading.claim
    assert_bug(claim, right)
    assert claim.further == ()
    if "right" in right:
        assert strip_quotes(right["right"]) in shown_by(claim, Role.EXPECTED) | {*claim.right_values}
    if "script" in right:
        assert reading.ask == ()
        assert right["script"] in reading.scripts[0].script
