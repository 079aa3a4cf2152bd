"""The bench of reading: its sets are complete, and its rates count as they say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.reading.__main__ import first_sights
from bench.reading.material import all_sets
from bench.reading.measure import Outcome, at_least, at_most, negatives, outcome_of, rates

LEAST_REPORTS = 150


def test_every_report_has_its_text_a_reason_and_right_verdicts() -> None:
    assert sum(len(reports.right) for reports in all_sets()) >= LEAST_REPORTS
    for reports in all_sets():
        assert {path.name for path in reports.folder.glob("*.md")} == {*reports.right}
        assert all(right["why"] and right["accept_on_cpu"] for right in reports.right.values())


def test_every_public_set_has_its_score_at_first_sight() -> None:
    scores = {score["set"]: score for score in first_sights()}
    for reports in all_sets():
        assert scores[reports.name]["of"] == len(reports.right)
        missed = scores[reports.name].get("missed")
        assert missed is None or len(missed) == scores[reports.name]["of"] - scores[reports.name]["right"]


@pytest.mark.parametrize(
    ("verdict", "accept", "wrong"),
    [
        ("not_reproduced", "reproduced", "wrong not_reproduced"),
        ("reproduced", "not_reproduced", "wrong reproduced"),
        ("flaky", "different", "wrong reproduced"),
        ("observed", "reproduced", "left open"),
        ("cannot_show", "not_reproduced", "left open"),
        ("different", "reproduced", None),
        ("flaky", "reproduced", None),
        ("cannot_show", "cannot_show", None),
    ],
)
def test_a_verdict_counts_in_one_rate(verdict: str, accept: str, wrong: str | None) -> None:
    found = rates([Outcome("set/1.md", frozenset({accept}), verdict)])
    counted = [
        name
        for name in ("wrong not_reproduced", "wrong reproduced", "left open")
        if found[name].startswith("1 of 1")
    ]
    assert counted == ([] if wrong is None else [wrong])


def test_a_rate_has_its_number_and_its_bound() -> None:
    assert at_most(0, 60) == "0 of 60 (at most 4.9%)"
    assert at_most(0, 0) == "0 of 0"
    assert at_least(54, 60) == "54 of 60 (79% to 96%)"
    assert at_most(17, 4000) == "17 of 4000 (at most 0.7%)"


def test_the_first_public_set_is_judged_and_gives_negatives() -> None:
    reports = next(each for each in all_sets() if each.name == "public_1")
    attempts = reports.results()
    outcomes = [outcome_of(report, attempts) for report in reports.reports]
    assert len(outcomes) == len(reports.right)
    found = list(negatives(reports.reports, attempts, each=1))
    assert found
    assert all(each.claim_of != each.script_of for each in found)
