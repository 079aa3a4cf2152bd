"""The expected reading of each report under tests/reports. Nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from default_limits import read

from app.intake.claim.claims import Check

FOLDER = Path(__file__).parents[1] / "reports"
LEAST_REPORTS = 40


def corpus() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def stripped(code: str) -> list[str]:
    return [line.rstrip() for line in code.strip().splitlines()]


def as_wanted(check: Check, wanted: dict[str, Any]) -> dict[str, Any]:
    """The fields of a check that the report's expectation names."""
    given = check.model_dump(mode="json", exclude_none=True)
    return {
        name: {key: given["where"].get(key) for key in value} if name == "where" else given.get(name)
        for name, value in wanted.items()
    }


def test_there_are_enough_reports() -> None:
    assert len(corpus()) >= LEAST_REPORTS


@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.stem)
def test_a_report_is_read_as_it_should_be(path: Path) -> None:
    report = json.loads(path.read_text())
    right = report["right"]
    reading = read(report["text"], form="report", title=report["title"])
    assert [(script.role.value, stripped(script.as_given)) for script in reading.scripts] == [
        (script["role"], stripped(script["code"])) for script in right["scripts"]
    ]
    assert [ask.code for ask in reading.ask] == right["ask"]
    if "checks" in right:
        assert len(reading.claim.checks) >= len(right["checks"])
        bugs = [check for check in reading.claim.checks if check.role == "bug"]
        assert len(bugs) == sum(check["role"] == "bug" for check in right["checks"])
        seen = [
            as_wanted(check, wanted)
            for check, wanted in zip(reading.claim.checks, right["checks"], strict=False)
        ]
        assert seen == right["checks"]
    if "repairs" in right:
        assert [repair.code for repair in reading.scripts[0].repairs] == right["repairs"]
    if "needs" in right:
        assert (
            sorted({need.kind.value for script in reading.scripts for need in script.needs}) == right["needs"]
        )
    if "environment" in right:
        assert {name: reading.environment.get(name) for name in right["environment"]} == right["environment"]
        assert right["environment"] or not reading.environment
